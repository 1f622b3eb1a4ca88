package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.ep4j.EpTimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A buffer of rank 0 for rank 1 over a fake network. */
@Timeout(60)
final class EfaBufferTest {
    private static final int COUNTER = 3;
    private static final Duration LONG = Duration.ofSeconds(20);

    @Test
    void noCounterAdvancesPastAWriteThatFoundNoRoomUntilThePeerIsDrained() {
        LinkPair pair =
                new LinkPair(1, new LinkPair.Shape(1, 8, true, Keys.WHOLE, NicProfile.ANY, Duration.ofMillis(100)));
        EfaBuffer buffer = pair.buffer();
        buffer.write(1, 0, 4096, 8);
        pair.fabric().stick(true);
        assertThatThrownBy(() -> {
                    for (int i = 0; i < 1000; i++) {
                        buffer.write(1, 0, 4096, 8);
                    }
                })
                .isInstanceOf(EpTimeoutException.class);
        pair.fabric().stick(false);
        assertThatThrownBy(() -> buffer.advance(1, COUNTER, 1))
                .isInstanceOfSatisfying(
                        EpTimeoutException.class, e -> assertThat(e.peer()).isEqualTo(1))
                .hasMessageContainingAll("buffer \"b\" of rank 0", "rank 1", "took nothing", "recover");
        assertThatThrownBy(() -> buffer.write(1, 0, 4096, 0)).isInstanceOf(EpTimeoutException.class);
        buffer.drain(1, LONG);
        assertThat(pair.seen(1, COUNTER)).isZero();
        buffer.advance(1, COUNTER, 2);
        buffer.drain(1, LONG);
        for (int i = 0; i < 1000 && pair.seen(1, COUNTER) == 0; i++) {
            pair.link(1).tryProgress();
        }
        assertThat(pair.seen(1, COUNTER)).isEqualTo(2);
    }

    @Test
    void recordsOfSurvivorsKeepTheirIndexes() {
        BufferRecord one = new BufferRecord(7, new Region(8, 4096, List.of()));
        assertThat(Exposure.byIndex(List.of(2, 3, 5), List.of(5), List.of(one)))
                .containsExactly(BufferRecord.ABSENT, BufferRecord.ABSENT, one);
    }
}
