package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.memory.HostMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A rank whose membership word the others have set fails its operations, although all that it waits for has come. */
@Timeout(60)
final class ExpelledRankTest {
    private static final int TOKENS = 3;
    private static final int TOPK = 2;
    private static final int[] IDS = {0, 1, 2, 3, 1, -1};
    private static final EpShape SHAPE = EpShape.builder(64, 4, TOPK)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    private static void expel(ThreadRanks.Rank rank) {
        HostMemory.of(rank.symmetric())
                .putLongRelease(new BufferLayout(SHAPE, rank.group().size()).membership(), 1);
    }

    private static void assertExpelled(ThreadRanks.Rank rank, ThrowingCallable operation) {
        assertThatThrownBy(operation)
                .isInstanceOfSatisfying(
                        EpPeerLostException.class, e -> assertThat(e.peer()).isEqualTo(rank.number()))
                .hasMessageContaining("the other ranks hold this rank (" + rank.number() + ") lost");
    }

    private static Tensor x(ThreadRanks.Rank rank) {
        return rank.rows(TOKENS, t -> 1f + t);
    }

    private static DispatchRequest.Builder high(ThreadRanks.Rank rank) {
        return DispatchRequest.of(x(rank), rank.ints(IDS, TOKENS, TOPK));
    }

    private static LowLatencyDispatchRequest.Builder low(ThreadRanks.Rank rank) {
        return LowLatencyDispatchRequest.of(x(rank), rank.ints(IDS, TOKENS, TOPK))
                .topkWeights(rank.floats(new float[TOKENS * TOPK], TOKENS, TOPK));
    }

    private static Tensor outputs(ThreadRanks.Rank rank) {
        long rows = SHAPE.lowLatencyRows(rank.group().size());
        Tensor all = rank.rows((int) (SHAPE.experts() * rows), t -> 1f);
        return Tensor.of(all.memory(), DataType.BF16, SHAPE.experts(), rows, SHAPE.hidden());
    }

    /** The rank waits for nobody: what fails is found when all has been read. */
    private static void alone(ThreadRanks.RankWork work) {
        try (ThreadRanks one = new ThreadRanks(1, SHAPE, Duration.ofSeconds(10))) {
            one.all(work);
        }
    }

    @Test
    void highThroughputFails() {
        alone(rank -> {
            var result = rank.buffer().dispatch(high(rank).build());
            expel(rank);
            assertExpelled(
                    rank,
                    () -> rank.buffer()
                            .combine(CombineRequest.of(result.x(), result.handle())
                                    .build()));
            assertExpelled(rank, () -> rank.buffer().dispatch(high(rank).build()));
        });
    }

    @Test
    void lowLatencyFails() {
        alone(rank -> {
            var result = rank.buffer().dispatch(low(rank).build());
            expel(rank);
            assertExpelled(
                    rank,
                    () -> rank.buffer()
                            .combine(LowLatencyCombineRequest.of(outputs(rank), result.handle())
                                    .build()));
            assertExpelled(rank, () -> rank.buffer().dispatch(low(rank).build()));
        });
    }

    @Test
    void whatAHookReceivesFails() {
        alone(rank -> {
            var result = rank.buffer().dispatch(low(rank).hook().build());
            expel(rank);
            assertExpelled(rank, result::receive);
        });
    }

    /** What was sent to it before it was held out differs from what it calls, since it calls something after that. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anOperationThatDiffersFromThatOfOthersFailsForTheSameReason(boolean lowLatency) {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, Duration.ofSeconds(5))) {
            ranks.all(rank -> {
                if (rank.is(1)) {
                    var later = OpOptions.DEFAULT.asynchronous();
                    if (lowLatency) {
                        rank.buffer().dispatch(low(rank).options(later).build());
                    } else {
                        rank.buffer()
                                .dispatch(high(rank).worstCase().options(later).build());
                    }
                    rank.meet();
                    rank.meet();
                    return;
                }
                rank.meet();
                expel(rank);
                assertExpelled(rank, () -> {
                    if (lowLatency) {
                        rank.buffer().dispatch(low(rank).format(WireFormat.FP8).build());
                    } else {
                        rank.buffer()
                                .dispatch(high(rank)
                                        .topkWeights(rank.floats(new float[TOKENS * TOPK], TOKENS, TOPK))
                                        .build());
                    }
                });
                rank.meet();
            });
        }
    }
}
