package org.ep4j.cli.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.cli.soak.SoakSpec.Counters;
import org.junit.jupiter.api.Test;

final class ScheduleTest {
    private static final List<Fault> THREE = List.of(Fault.KILL, Fault.STOP, Fault.DOUBLE_KILL);

    private static List<Schedule.Round> rounds(List<Fault> faults, long seed, Counters counters, int count) {
        Schedule schedule = new Schedule(Specs.of(faults, seed, counters));
        return IntStream.range(0, count).mapToObj(schedule::round).toList();
    }

    @Test
    void sameSeedGivesSameRounds() {
        assertThat(rounds(THREE, 5, Counters.MIXED, 60)).isEqualTo(rounds(THREE, 5, Counters.MIXED, 60));
    }

    @Test
    void aRoundDoesNotDependOnThoseBeforeIt() {
        assertThat(new Schedule(Specs.of(THREE, 5, Counters.ZERO)).round(40))
                .isEqualTo(rounds(THREE, 5, Counters.ZERO, 41).get(40));
    }

    @Test
    void anotherSeedGivesOtherRounds() {
        assertThat(rounds(THREE, 5, Counters.ZERO, 20)).isNotEqualTo(rounds(THREE, 6, Counters.ZERO, 20));
    }

    @Test
    void everyFaultComesOnceInACycle() {
        List<Schedule.Round> rounds = rounds(THREE, 9, Counters.ZERO, 30);
        for (int first = 0; first < rounds.size(); first += THREE.size()) {
            Set<Fault> cycle = rounds.subList(first, first + THREE.size()).stream()
                    .map(Schedule.Round::fault)
                    .collect(Collectors.toCollection(() -> EnumSet.noneOf(Fault.class)));
            assertThat(cycle).containsExactlyInAnyOrderElementsOf(THREE);
        }
    }

    @Test
    void rankZeroIsInHalfOfTheDoubleKills() {
        List<Schedule.Round> rounds = rounds(List.of(Fault.DOUBLE_KILL), 3, Counters.ZERO, 100);
        assertThat(rounds)
                .allSatisfy(r -> assertThat(r.victims()).doesNotHaveDuplicates().hasSize(2));
        assertThat(rounds.stream().filter(r -> r.victims().contains(0))).hasSize(50);
        assertThat(rounds).allSatisfy(r -> assertThat(r.gapMillis()).isBetween(0, 50));
        assertThat(rounds.stream().map(Schedule.Round::gapMillis).distinct().count())
                .isGreaterThan(20);
    }

    @Test
    void everyRankIsAVictimAtTimes() {
        assertThat(rounds(List.of(Fault.STOP), 3, Counters.ZERO, 100).stream()
                        .flatMap(r -> r.victims().stream())
                        .collect(Collectors.toSet()))
                .containsExactlyInAnyOrder(0, 1, 2, 3);
    }

    @Test
    void aPartitionHasTwoRanks() {
        assertThat(rounds(List.of(Fault.PARTITION), 3, Counters.ZERO, 20))
                .allSatisfy(r -> assertThat(r.ranks()).isEqualTo(2));
    }

    @Test
    void countersStartBelowTheEndsOf32And64Bits() {
        assertThat(rounds(THREE, 3, Counters.NEAR_2_32, 20))
                .allSatisfy(r -> assertThat(r.firstOperation()).isBetween((1L << 32) - 30, (1L << 32) - 1));
        assertThat(rounds(THREE, 3, Counters.NEAR_2_63, 20))
                .allSatisfy(r -> assertThat(r.firstOperation()).isGreaterThan(Long.MAX_VALUE - (1L << 21)));
        assertThat(rounds(THREE, 3, Counters.MIXED, 3).stream()
                        .map(Schedule.Round::firstOperation)
                        .map(n -> 64 - Long.numberOfLeadingZeros(n)))
                .containsExactly(0, 32, 63);
    }
}
