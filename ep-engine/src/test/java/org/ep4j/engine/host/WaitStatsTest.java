package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.ep4j.engine.host.Exchanges.SHAPE;
import static org.ep4j.engine.host.Exchanges.TIMEOUT;
import static org.ep4j.engine.host.Exchanges.ids;
import static org.ep4j.engine.host.Exchanges.pack;
import static org.ep4j.engine.host.Exchanges.weights;
import static org.ep4j.engine.host.Exchanges.x;

import java.time.Duration;
import org.ep4j.DataType;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What waiting statistics grow by: at least how late a rank came, and never more than the call took, since ranks are waited for in turn. */
@Timeout(60)
final class WaitStatsTest {
    private static final Duration LATE = Duration.ofMillis(300);
    private static final long BEFORE = 1_000_000_007;

    @Test
    void dispatchCountsItsWaitsOnce() {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, TIMEOUT)) {
            ranks.all(rank -> {
                pack(rank);
                measured(
                        rank,
                        waited -> rank.buffer()
                                .dispatch(LowLatencyDispatchRequest.of(x(rank), ids(rank))
                                        .waitStats(waited)
                                        .build()));
            });
        }
    }

    @Test
    void dispatchWithTheHookCountsTheWaitsOfItsReceivingHalf() {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, TIMEOUT)) {
            ranks.all(rank -> {
                pack(rank);
                measured(
                        rank,
                        waited -> rank.buffer()
                                .dispatch(LowLatencyDispatchRequest.of(x(rank), ids(rank))
                                        .waitStats(waited)
                                        .hook()
                                        .build())
                                .receive());
            });
        }
    }

    @Test
    void combineCountsItsWaitsOnce() {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, TIMEOUT)) {
            ranks.all(rank -> {
                LowLatencyDispatchResult packed = pack(rank);
                measured(
                        rank,
                        waited -> rank.buffer()
                                .combine(LowLatencyCombineRequest.of(packed.x(), packed.handle())
                                        .topkWeights(weights(rank))
                                        .waitStats(waited)
                                        .build()));
            });
        }
    }

    private interface Call {
        void run(Tensor waitStats);
    }

    private static void measured(ThreadRanks.Rank rank, Call call) throws Exception {
        Tensor waited = rank.tensor(DataType.INT64, 2);
        rank.view(waited).putLong(0, BEFORE).putLong(8, BEFORE);
        rank.meet();
        if (rank.is(1)) {
            Thread.sleep(LATE.toMillis());
        }
        long start = System.nanoTime();
        call.run(waited);
        long took = System.nanoTime() - start;
        long own = rank.view(waited).getLong(8 * rank.number()) - BEFORE;
        long other = rank.view(waited).getLong(8 * (1 - rank.number())) - BEFORE;
        assertThat(own + other)
                .as("nanoseconds waited for all ranks, of a call that took " + took)
                .isBetween(0L, took);
        if (rank.is(0)) {
            assertThat(other).as("nanoseconds waited for the late rank").isGreaterThan(LATE.toNanos() / 2);
        }
    }
}
