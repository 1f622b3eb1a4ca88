package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;
import org.ep4j.cli.rank.RankMessage.Samples;
import org.ep4j.cli.rank.RankMessage.Validated;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class FiguresTest {
    private static final Samples FAST = new Samples(
            "op", List.of(1_000L, 2_000L, 9_000L), List.of(10L, 10L, 10L), List.of(4L, 4L, 4L), 100, List.of());
    private static final Samples SLOW = new Samples(
            "op", List.of(5_000L, 1_000L, 3_000L), List.of(20L, 20L, 20L), List.of(6L, 6L, 6L), 100, List.of());

    @Test
    void theTimeOfARoundIsThatOfItsSlowestRank() {
        Figures figures = Figures.of(List.of(FAST, SLOW), Map.of(), List.of());
        assertThat(figures.roundMicros()).containsExactly(5.0, 2.0, 9.0);
        assertThat(figures.medianMicros()).isEqualTo(5.0);
        assertThat(figures.maxMicros()).isCloseTo(9.0, within(0.01));
        assertThat(figures.p99Micros()).isCloseTo(9.0, within(0.01));
        assertThat(figures.minMicros()).isCloseTo(2.0, within(0.01));
        assertThat(figures.rounds()).isEqualTo(3);
    }

    @Test
    void theSlowestRankIsTheOneWithTheLargestMedianOfItsOwn() {
        Figures figures = Figures.of(List.of(FAST, SLOW), Map.of(), List.of());
        assertThat(figures.rankMedianMicros()).containsExactly(2.0, 3.0);
        assertThat(figures.slowestRank()).isEqualTo(1);
        assertThat(figures.slowestRankMicros()).isEqualTo(3.0);
    }

    @Test
    void logicalBytesCountOwnRowsAndWireBytesDoNot() {
        Figures figures = Figures.of(List.of(FAST, SLOW), Map.of(), List.of());
        assertThat(figures.rows()).isEqualTo(15.0);
        assertThat(figures.logicalBytes()).isEqualTo(1500.0);
        assertThat(figures.wireBytes()).isEqualTo(1000.0);
        assertThat(figures.logicalGigabytesPerSecond()).isCloseTo(0.3, within(1e-9));
        assertThat(figures.wireGigabytesPerSecond()).isCloseTo(0.2, within(1e-9));
    }

    @Test
    void theCeilingIsTheFastestWayByItsSlowestRank() {
        Samples plain = copies(2_000L, 2_000L, 3_000L);
        Samples nonTemporal = copies(1_000L, 1_000L, 1_000L);
        Samples slow = copies(9_000L, 9_000L, 1_000L);
        Figures figures = Figures.of(
                List.of(FAST, SLOW),
                Map.of("non-temporal", List.of(nonTemporal, slow), "plain", List.of(plain, plain)),
                List.of());
        assertThat(figures.ceilingMicros()).contains(2.0);
        assertThat(figures.ceilingWay()).isEqualTo("plain");
        assertThat(figures.ratioToCeiling().orElseThrow()).isCloseTo(0.4, within(1e-9));
    }

    private static Samples copies(long... nanos) {
        return new Samples("op", Arrays.stream(nanos).boxed().toList(), FAST.rows(), FAST.ownRows(), 100, List.of());
    }

    @Test
    void withoutACeilingThereIsNoRatio() {
        Figures figures = Figures.of(List.of(FAST), Map.of(), List.of());
        assertThat(figures.ceilingMicros()).isEqualTo(Optional.empty());
        assertThat(figures.ceilingWay()).isEmpty();
        assertThat(figures.ratioToCeiling()).isEqualTo(Optional.empty());
    }

    @Test
    void oneWrongRankMakesTheOperationWrong() {
        Figures figures = Figures.of(
                List.of(FAST, SLOW),
                Map.of(),
                List.of(new Validated("op", 70, ""), new Validated("op", 30, "x[3] is 1, must be 2")));
        assertThat(figures.valid()).isFalse();
        assertThat(figures.problem()).isEqualTo("x[3] is 1, must be 2");
        assertThat(figures.validatedElements()).isEqualTo(100);
    }

    @Test
    void theMedianOfAnEvenNumberOfRoundsLiesBetween() {
        Samples even = new Samples("op", List.of(1_000L, 4_000L), List.of(1L, 1L), List.of(0L, 0L), 8, List.of());
        assertThat(Figures.of(List.of(even), Map.of(), List.of()).medianMicros())
                .isEqualTo(2.5);
    }

    @Test
    void percentilesRiseFromTheFastestToTheSlowestRound() {
        Figures figures = Figures.of(List.of(FAST, SLOW), Map.of(), List.of());
        assertThat(figures.percentileMicros().stream().map(Figures.Percentile::micros))
                .isSorted();
        assertThat(figures.percentileMicros().get(0).micros()).isCloseTo(figures.minMicros(), within(0.01));
    }

    @Test
    void theAllocatedBytesAreTheMedianOfAllRanksAndOneOfTheirValues() {
        List<Long> one = List.of(1L);
        Samples first = new Samples("op", one, one, one, 8, List.of(0L, 64L, 5_000L));
        Samples second = new Samples("op", one, one, one, 8, List.of(64L, 80L, 64L));
        assertThat(Figures.of(List.of(first, second), Map.of(), List.of()).allocatedBytes())
                .contains(64L);
        assertThat(Figures.of(List.of(FAST), Map.of(), List.of()).allocatedBytes())
                .isEqualTo(Optional.empty());
    }

    @Test
    void oneRoundInAHundredIsSlowerThanThe99thPercentile() {
        List<Long> nanos =
                LongStream.rangeClosed(1, 200).map(i -> 1_000 * i).boxed().toList();
        List<Long> rows = Collections.nCopies(nanos.size(), 1L);
        Figures figures = Figures.of(List.of(new Samples("op", nanos, rows, rows, 8, List.of())), Map.of(), List.of());
        assertThat(figures.p99Micros()).isEqualTo(198.0);
        assertThat(figures.percentileMicros())
                .contains(new Figures.Percentile(50, 100.0), new Figures.Percentile(99.9, 200.0));
    }
}
