package org.ep4j.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The whole kit on the backend that every machine can run, with ranks as threads; {@link HostShmProcessesTckTest} runs processes. */
@Tag("verify")
class HostShmTckTest extends EpBackendTck {
    @Override
    protected TckSubject subject() {
        return TckSubject.of("host-shm", "host");
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(4);
    }

    @Override
    protected List<RankMode> modes() {
        return List.of(RankMode.THREADS);
    }

    /** Ensures that the rules are not all skipped. */
    @Test
    void theBackendIsAvailableEverywhere() {
        assertThat(subject().unavailable()).isEmpty();
    }
}
