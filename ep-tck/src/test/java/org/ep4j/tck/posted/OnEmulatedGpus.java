package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.BeforeEach;

/** Tests that are skipped without the emulator, and fail where it is required. */
abstract class OnEmulatedGpus {
    @BeforeEach
    void emulator() {
        TckSubject subject = TckSubject.of(PostedThreadsProvider.ID, "cuda").without(Capability.PROCESSES);
        List<String> missing = subject.unavailable();
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            assertThat(missing).isEmpty();
        }
        assumeTrue(missing.isEmpty(), missing::toString);
    }
}
