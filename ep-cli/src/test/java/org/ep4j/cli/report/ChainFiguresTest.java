package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.assertj.core.data.Offset;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.ChainSamples;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ChainFiguresTest {
    private static final int HALF = 56;
    private static final Offset<Double> NEAR = within(1e-9);

    /** Nanoseconds of a pair, in the first and in the second half of each chain. */
    private static RankMessage chains(String operation, int tokens, String way, long[] first, long[] second) {
        return new ChainSamples(operation, tokens, way, HALF, half(first), half(second));
    }

    private static List<Long> half(long[] nanosOfPair) {
        return Arrays.stream(nanosOfPair).map(n -> HALF * n).boxed().toList();
    }

    @Test
    void theBracketIsOverTheMediansOfRanksAndNotOverChains() {
        ChainFigures figures = ChainFigures.all(List.of(
                        List.of(chains(
                                "pair", 8, "graph", new long[] {9000, 1000, 2000}, new long[] {9000, 1000, 2000})),
                        List.of(chains("pair", 8, "graph", new long[] {4000, 4000, 500}, new long[] {6000, 6000, 500})),
                        List.of(chains(
                                "pair", 8, "graph", new long[] {3000, 3000, 3000}, new long[] {3000, 3000, 3000}))))
                .get(0);
        assertThat(figures.rankMicros()).containsExactly(2.0, 5.0, 3.0);
        assertThat(figures.periodMicros()).isEqualTo(3.0);
        assertThat(figures.minMicros()).isEqualTo(2.0);
        assertThat(figures.maxMicros()).isEqualTo(5.0);
        assertThat(figures.chainMicros()).containsExactly(9.0, 5.0, 3.0);
        assertThat(figures.chains()).isEqualTo(3);
        assertThat(figures.pairs()).isEqualTo(2 * HALF);
    }

    @Test
    void spreadIsOverTheSlowestRankOfEachChain() {
        long[] rising = LongStream.rangeClosed(0, 10).map(i -> 1000 + 10 * i).toArray();
        long[] fast = new long[11];
        Arrays.fill(fast, 500);
        ChainFigures figures = ChainFigures.all(List.of(
                        List.of(chains("pair", 8, "queued", fast, fast)),
                        List.of(chains("pair", 8, "queued", rising, rising))))
                .get(0);
        assertThat(figures.spread()).isCloseTo((1.09 - 1.01) / 1.05, NEAR);
        assertThat(figures.drift()).isZero();
    }

    @Test
    void driftIsTheMedianOfAllRanksAndChains() {
        ChainFigures figures = ChainFigures.all(List.of(
                        List.of(chains("pair", 8, "queued", new long[] {1000, 1000}, new long[] {900, 1100})),
                        List.of(chains("pair", 8, "queued", new long[] {1000, 1000}, new long[] {1300, 1200}))))
                .get(0);
        assertThat(figures.drift()).isCloseTo(0.15, NEAR);
    }

    @Test
    void chainsAreGroupedByPairTokensAndWayInTheirOrder() {
        long[] one = {1000};
        List<RankMessage> rank = List.of(
                chains("exact", 8, "queued", one, one),
                chains("exact", 8, "graph", one, one),
                chains("partial", 8, "queued", one, one),
                new RankMessage.Progress(1, 2, "something else"),
                chains("exact", 1, "queued", one, one));
        List<ChainFigures> figures = ChainFigures.all(List.of(rank, rank));
        assertThat(figures.stream().map(f -> f.operation() + " " + f.tokens() + " " + f.way()))
                .containsExactly("exact 8 queued", "exact 8 graph", "partial 8 queued", "exact 1 queued");
        assertThat(figures).allSatisfy(f -> assertThat(f.rankMicros()).hasSize(2));
        assertThat(FigureTable.chains(figures))
                .contains("period", "min", "max", "spread %", "drift %")
                .containsPattern("(?m)^exact +8 +graph +1\\.00 +1\\.00 +1\\.00 +0\\.0 +\\+0\\.0$");
    }

    @Test
    void withoutChainsThereAreNoFigures() {
        assertThat(ChainFigures.all(List.of(List.of(), List.of()))).isEmpty();
    }
}
