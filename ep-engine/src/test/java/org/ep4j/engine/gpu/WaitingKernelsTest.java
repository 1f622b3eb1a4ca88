package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.EpShape;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Kernels of a rank whose peer has not called an operation yet. */
@Tag("verify")
final class WaitingKernelsTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE =
            EpShape.builder(64, 4, 2).maxLowLatencyTokens(TOKENS).build();

    /** Longer than kernels need to do all that they can without the other rank. */
    private static final Duration WHILE = Duration.ofMillis(300);

    private static LowLatencyDispatchResult dispatch(Rank rank) {
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = i % SHAPE.experts();
        }
        Tensor weights = rank.floats(new float[ids.length], TOKENS, SHAPE.topK());
        return rank.buffer()
                .dispatch(LowLatencyDispatchRequest.of(
                                rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden()),
                                rank.ints(ids, TOKENS, SHAPE.topK()))
                        .topkWeights(weights)
                        .options(OpOptions.DEFAULT.asynchronous())
                        .build());
    }

    private static void waits(EpEvent event) {
        assertThatThrownBy(() -> event.await(WHILE))
                .isInstanceOfSatisfying(
                        EpTimeoutException.class, e -> assertThat(e.phase()).isEqualTo("event"));
    }

    private static long[] taken(Rank rank) {
        return ((GpuBuffer) rank.buffer()).deviceState().taken();
    }

    /** A kernel that runs beside the receiving one may give credit, with which the peer would write where blocks still read. */
    @Test
    void bankIsEmptiedByTheLastBlockThatReads() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                LowLatencyDispatchResult result = null;
                if (rank.number() == 0) {
                    result = dispatch(rank);
                    waits(result.event());
                    assertThat(taken(rank)).as("while a block waits").containsExactly(0, 0, 0, 0);
                }
                rank.group().barrier(Guard.minute());
                result = result == null ? dispatch(rank) : result;
                result.event().await(Guard.minute());
                assertThat(taken(rank)).as("after the dispatch").containsExactly(0, 2, 0, 0);
                int experts = rank.buffer().placement().localExperts(rank.number());
                Tensor outputs =
                        rank.tensor(DataType.BF16, new byte[0], experts, SHAPE.lowLatencyRows(2), SHAPE.hidden());
                rank.buffer()
                        .combine(LowLatencyCombineRequest.of(outputs, result.handle())
                                .build());
                assertThat(taken(rank)).as("after the combine").containsExactly(0, 2, 0, 2);
            });
        }
    }

    @Test
    void clockThatStepsBackEndsNoWait() {
        Duration step = Duration.ofSeconds(30);
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                LowLatencyDispatchResult result = null;
                if (rank.number() == 0) {
                    result = dispatch(rank);
                    waits(result.event());
                    EmulatedGpu.pass(step.negated());
                }
                try {
                    if (result != null) {
                        waits(result.event());
                    }
                    rank.group().barrier(Guard.minute());
                    result = result == null ? dispatch(rank) : result;
                    result.event().await(Guard.minute());
                } finally {
                    if (rank.number() == 0) {
                        EmulatedGpu.pass(step);
                    }
                }
            });
        }
    }
}
