package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A rank that lives is masked between a dispatch and its combine: its selections add exactly nothing, and nothing that it could have
 * written or has in its memory is read.
 */
@Timeout(120)
final class MaskedCombineTest {
    private static final int RANKS = 3;
    private static final int MASKED = 2;
    private static final int TOKENS = 4;
    private static final int TOPK = 3;
    private static final int EXPERTS = 6;
    private static final EpShape SHAPE = EpShape.builder(64, EXPERTS, TOPK)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    /** Experts 0 and 1 are on rank 0, 4 and 5 on rank 2, which is masked. */
    private static final int[] IDS = {0, 4, 2, 4, 5, 1, 3, 2, 0, 5, 4, 4};

    /** Selections of each token that stay: those of ranks 0 and 1. */
    private static final int[] SELECTIONS = {2, 1, 3, 0};

    /** Ranks of each token that stay. */
    private static final int[] TARGETS = {2, 1, 2, 0};

    private static ThreadRanks ranks() {
        return new ThreadRanks(RANKS, SHAPE, Duration.ofSeconds(10));
    }

    private static float value(ThreadRanks.Rank rank, int token) {
        return 1 + 8 * rank.number() + token;
    }

    private static List<Float> expected(ThreadRanks.Rank rank, int[] times) {
        List<Float> expected = new ArrayList<>();
        for (int t = 0; t < TOKENS; t++) {
            expected.add(times[t] * value(rank, t));
        }
        return expected;
    }

    static Stream<Arguments> highThroughput() {
        return Stream.of(
                Arguments.of(RowLayout.BY_RANK, CombinePrecision.EXACT),
                Arguments.of(RowLayout.BY_RANK, CombinePrecision.RANK_PARTIAL),
                Arguments.of(RowLayout.BY_EXPERT, CombinePrecision.EXACT),
                Arguments.of(RowLayout.BY_EXPERT, CombinePrecision.RANK_PARTIAL));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("highThroughput")
    void highThroughputSelectionsOfAMaskedRankAddNothing(RowLayout order, CombinePrecision precision) {
        try (ThreadRanks ranks = ranks()) {
            ranks.all(rank -> {
                float[] ones = new float[TOKENS * TOPK];
                java.util.Arrays.fill(ones, 2f);
                Tensor x = rank.rows(TOKENS, t -> value(rank, t));
                DispatchResult dispatched = rank.buffer()
                        .dispatch(DispatchRequest.of(x, rank.ints(IDS, TOKENS, TOPK))
                                .topkWeights(rank.floats(ones, TOKENS, TOPK))
                                .layout(order)
                                .build());
                rank.meet();
                BufferLayout layout = new BufferLayout(SHAPE, RANKS);
                if (rank.is(MASKED)) {
                    // It comes to nothing any more, so all of its memory can say that it was read.
                    rank.poison(0, layout.bytes());
                } else {
                    rank.buffer().mask(MASKED);
                    rank.poison(layout.combineArea(), layout.combineArea() + layout.combineInputBytes());
                }
                rank.meet();
                if (rank.is(MASKED)) {
                    return;
                }
                CombineResult combined = rank.buffer()
                        .combine(CombineRequest.of(dispatched.x(), dispatched.handle())
                                .weights(dispatched.topkWeights().orElseThrow())
                                .precision(precision)
                                .build());
                int[] times = order == RowLayout.BY_EXPERT ? SELECTIONS : TARGETS;
                assertThat(rank.values(combined.out()))
                        .as("sums without the masked rank " + MASKED)
                        .isEqualTo(expected(rank, times));
                var weights = rank.view(combined.weights().orElseThrow()).asFloatBuffer();
                for (int i = 0; i < IDS.length; i++) {
                    assertThat(weights.get(i))
                            .as("weight of selection " + i + ", of expert " + IDS[i])
                            .isEqualTo(IDS[i] >= 4 ? 0f : 2f);
                }
            });
        }
    }

    @ParameterizedTest(name = "{0}, logFmt {1}, hook {2}")
    @CsvSource({
        "EXACT, false, false",
        "EXACT, false, true",
        "EXACT, true, false",
        "RANK_PARTIAL, false, false",
        "RANK_PARTIAL, true, false"
    })
    void lowLatencySelectionsOfAMaskedRankAddNothing(CombinePrecision precision, boolean logFmt, boolean hook) {
        try (ThreadRanks ranks = ranks()) {
            ranks.all(rank -> {
                for (int round = 0; round < 2; round++) {
                    // Slots of both banks have what the masked rank sent before it was masked.
                    combine(rank, dispatch(rank, 1000), precision, logFmt, hook);
                }
                LowLatencyDispatchResult dispatched = dispatch(rank, 0);
                rank.meet();
                if (rank.is(MASKED)) {
                    rank.meet();
                    return;
                }
                rank.buffer().mask(MASKED);
                if (!logFmt) {
                    BufferLayout layout = new BufferLayout(SHAPE, RANKS);
                    rank.poison(
                            layout.combineSlot(0, 0, 0), layout.combineSlot(1, TOKENS - 1, TOPK - 1) + SHAPE.hidden());
                }
                rank.meet();
                Tensor out = combine(rank, dispatched, precision, logFmt, hook);
                assertThat(rank.values(out))
                        .as("sums without the masked rank " + MASKED)
                        .isEqualTo(expected(rank, SELECTIONS));
            });
        }
    }

    /**
     * A rank that stood still in a combine, or before it, would read what the others stage for another one, and return it: those that
     * masked it move before they stage again.
     */
    @Test
    void aMaskedRankThatOwesACombineReturnsNothingOfTheNextOne() {
        try (ThreadRanks ranks = new ThreadRanks(RANKS, SHAPE, Duration.ofMillis(500))) {
            ranks.all(rank -> {
                Tensor x = rank.rows(TOKENS, t -> value(rank, t));
                var request =
                        DispatchRequest.of(x, rank.ints(IDS, TOKENS, TOPK)).build();
                DispatchResult dispatched = rank.buffer().dispatch(request);
                CombineRequest combine =
                        CombineRequest.of(dispatched.x(), dispatched.handle()).build();
                rank.meet();
                if (rank.is(MASKED)) {
                    rank.meet();
                    assertThatThrownBy(() -> rank.buffer().combine(combine))
                            .isInstanceOfSatisfying(
                                    EpPeerLostException.class,
                                    e -> assertThat(e.peer()).isEqualTo(MASKED));
                    return;
                }
                assertThatThrownBy(() -> rank.buffer().combine(combine)).isInstanceOf(EpTimeoutException.class);
                rank.buffer().mask(MASKED);
                assertThatThrownBy(() -> rank.buffer().combine(combine))
                        .isInstanceOf(EpStateException.class)
                        .hasMessageContaining("the buffer has moved away");
                assertThatThrownBy(dispatched::x).hasMessageContaining("stale");
                rank.meet();
                DispatchResult again = rank.buffer().dispatch(request);
                CombineResult combined = rank.buffer()
                        .combine(CombineRequest.of(again.x(), again.handle()).build());
                assertThat(rank.values(combined.out())).isEqualTo(expected(rank, TARGETS));
            });
        }
    }

    private static LowLatencyDispatchResult dispatch(ThreadRanks.Rank rank, float more) {
        float[] ones = new float[TOKENS * TOPK];
        java.util.Arrays.fill(ones, 1f);
        Tensor x = rank.rows(TOKENS, t -> value(rank, t) + more);
        return rank.buffer()
                .dispatch(LowLatencyDispatchRequest.of(x, rank.ints(IDS, TOKENS, TOPK))
                        .topkWeights(rank.floats(ones, TOKENS, TOPK))
                        .build());
    }

    private static Tensor combine(
            ThreadRanks.Rank rank,
            LowLatencyDispatchResult dispatched,
            CombinePrecision precision,
            boolean logFmt,
            boolean hook) {
        var request =
                LowLatencyCombineRequest.of(dispatched.x(), dispatched.handle()).precision(precision);
        if (logFmt) {
            request.logFmt();
        }
        if (hook) {
            request.hook();
        }
        var combined = rank.buffer().combine(request.build());
        if (hook) {
            combined.receive();
        }
        return combined.out();
    }
}
