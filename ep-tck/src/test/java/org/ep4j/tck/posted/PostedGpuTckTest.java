package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Subjects;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.Test;

/** The kit between emulated GPUs that host threads post for. */
class PostedGpuTckTest extends EpBackendTck {
    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, "cuda").without(Capability.PROCESSES);
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(3);
    }

    /** Otherwise every rule would be skipped, and nobody would see it. */
    @Test
    void emulatedGpusAreThereWhereTheyAreRequired() {
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            assertThat(Subjects.unavailable(subject())).isEmpty();
        }
    }
}
