package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class PostingCountsTest {
    @Property
    void everyPortHasTheSameNumberOfLanes(
            @ForAll @IntRange(max = 64) int wanted,
            @ForAll Objective objective,
            @ForAll @IntRange(min = 1, max = 8) int ports,
            @ForAll @IntRange(min = 1, max = 100_000) int ranks) {
        int lanes = PostingCounts.lanes(wanted, objective, ports, ranks);
        assertThat(lanes % ports).isZero();
        assertThat(lanes).isGreaterThanOrEqualTo(Math.max(wanted, ports));
    }

    @Property
    void largeGroupsDoNotAskForMoreQueuePairsThanANicHas(@ForAll @IntRange(min = 2, max = 30_000) int ranks) {
        int lanes = PostingCounts.lanes(0, Objective.HIGH_THROUGHPUT, 1, ranks);
        assertThat(lanes * (ranks - 1L)).isLessThanOrEqualTo(32_768);
    }

    @Test
    void smallGroupsHaveTheUsualNumber() {
        assertThat(PostingCounts.lanes(0, Objective.LOW_LATENCY, 1, 256)).isEqualTo(8);
        assertThat(PostingCounts.lanes(0, Objective.HIGH_THROUGHPUT, 2, 256)).isEqualTo(12);
        assertThat(PostingCounts.lanes(40, Objective.HIGH_THROUGHPUT, 1, 8192)).isEqualTo(40);
    }

    @ParameterizedTest
    @CsvSource({
        "sm_90, 0, 8",
        "sm_90a, 24, 8",
        "sm_90, 6, 6",
        "sm_100, 24, 1",
        "sm_103, 0, 1",
        "sm_120, 0, 1",
        "sm_80, 24, 4",
        "sm_89, 2, 2",
        "gfx942, 48, 4",
        "gfx950, 3, 3",
        "'', 0, 4",
    })
    void proxiesFollowTheArchitectureAndTheProcessorsOfTheRank(String architecture, int processors, int expected) {
        assertThat(PostingCounts.proxies(0, architecture, processors)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"sm_90, 4", "sm_100, 0", "gfx942, 24"})
    void theNumberOfProxiesThatTheUserSetsHolds(String architecture, int processors) {
        assertThat(PostingCounts.proxies(12, architecture, processors)).isEqualTo(12);
    }
}
