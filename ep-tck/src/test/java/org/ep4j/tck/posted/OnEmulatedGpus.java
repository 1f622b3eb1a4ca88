package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Subjects;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.BeforeEach;

/** Without the emulator the tests are skipped, and fail where it is required. */
abstract class OnEmulatedGpus {
    @BeforeEach
    void emulator() {
        TckSubject subject = TckSubject.of(PostedThreadsProvider.ID, "cuda").without(Capability.PROCESSES);
        List<String> missing = Subjects.unavailable(subject);
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            assertThat(missing).isEmpty();
        }
        assumeTrue(missing.isEmpty(), missing::toString);
    }
}
