package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.ep4j.engine.host.Exchanges.SHAPE;
import static org.ep4j.engine.host.Exchanges.dispatch;
import static org.ep4j.engine.host.Exchanges.pack;
import static org.ep4j.engine.host.Exchanges.weights;

import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.CombineRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A combine that another rank does not come to ends at its own deadline, not at that of the settings, and names who is missing. */
@Timeout(60)
final class CombineDeadlineTest {
    private static final Duration SETTING = Duration.ofSeconds(20);
    private static final Duration OWN = Duration.ofMillis(400);
    private static final OpOptions OPTIONS = OpOptions.DEFAULT.timeout(OWN);

    @Test
    void highThroughputCombine() {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, SETTING)) {
            ranks.all(rank -> {
                DispatchResult mine = dispatch(rank);
                if (rank.is(0)) {
                    endsInTime(
                            "combine rows begin",
                            () -> rank.buffer()
                                    .combine(CombineRequest.of(mine.x(), mine.handle())
                                            .options(OPTIONS)
                                            .build()));
                }
            });
        }
    }

    @Test
    void lowLatencyCombine() {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, SETTING)) {
            ranks.all(rank -> {
                LowLatencyDispatchResult packed = pack(rank);
                var request = LowLatencyCombineRequest.of(packed.x(), packed.handle())
                        .topkWeights(weights(rank))
                        .options(OPTIONS);
                if (rank.is(0)) {
                    endsInTime(
                            "low-latency combine receive", () -> rank.buffer().combine(request.build()));
                    var hooked = rank.buffer().combine(request.hook().build());
                    endsInTime("low-latency combine receive", hooked::receive);
                }
            });
        }
    }

    private static void endsInTime(String phase, ThrowingCallable combine) {
        long start = System.nanoTime();
        assertThatThrownBy(combine).isInstanceOfSatisfying(EpTimeoutException.class, e -> {
            assertThat(e.phase()).isEqualTo(phase);
            assertThat(e.peer()).isEqualTo(1);
            assertThat(e).hasMessageContaining("waited " + OWN.toMillis() + " ms");
        });
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .as("time until the combine gave up")
                .isBetween(OWN, SETTING.dividedBy(2));
    }
}
