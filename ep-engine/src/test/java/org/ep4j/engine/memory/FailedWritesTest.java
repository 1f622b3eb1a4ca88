package org.ep4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.junit.jupiter.api.Test;

final class FailedWritesTest {
    private final FailedWrites failures = new FailedWrites(3, "wires buffer \"b\" of rank 0");

    @Test
    void aPeerIsRefusedFromTheFirstFailureUntilItIsDrained() {
        EpTimeoutException first = new EpTimeoutException("no room", "room on the home lane", 2, 4, 3);
        failures.failed(2, first);
        failures.failed(2, new IllegalStateException("later"));
        assertThatCode(() -> failures.check(1)).doesNotThrowAnyException();
        assertThatThrownBy(() -> failures.check(2))
                .isInstanceOfSatisfying(EpTimeoutException.class, e -> {
                    assertThat(e.peer()).isEqualTo(2);
                    assertThat(e.phase()).isEqualTo("room on the home lane");
                    assertThat(e.expected()).isEqualTo(4);
                    assertThat(e.seen()).isEqualTo(3);
                })
                .hasCause(first)
                .hasMessageContainingAll("wires buffer \"b\" of rank 0", "rank 2", "no room", "recover");
        failures.drained(1);
        assertThatThrownBy(() -> failures.check(2)).isInstanceOf(EpTimeoutException.class);
        failures.drained(2);
        assertThatCode(() -> failures.check(2)).doesNotThrowAnyException();
    }

    @Test
    void aLostPeerIsReportedAsLostByEveryLaterWrite() {
        EpPeerLostException first = new EpPeerLostException("its process is lost", 1, "write");
        failures.failed(1, first);
        assertThatThrownBy(() -> failures.check(1))
                .isInstanceOfSatisfying(
                        EpPeerLostException.class, e -> assertThat(e.peer()).isEqualTo(1))
                .hasCause(first)
                .hasMessageContaining("its process is lost");
    }

    @Test
    void aFailureOfAnyKindCounts() {
        failures.failed(0, new OutOfMemoryError());
        assertThatThrownBy(() -> failures.check(0))
                .isInstanceOf(EpTimeoutException.class)
                .hasMessageContaining("java.lang.OutOfMemoryError");
    }
}
