package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class LanesTest {
    @Property
    void everyPortHasTheSameNumberOfLanes(
            @ForAll @IntRange(max = 64) int wanted,
            @ForAll Objective objective,
            @ForAll @IntRange(min = 1, max = 8) int ports,
            @ForAll @IntRange(min = 1, max = 100_000) int ranks) {
        int lanes = Lanes.count(wanted, objective, ports, ranks);
        assertThat(lanes % ports).isZero();
        assertThat(lanes).isGreaterThanOrEqualTo(Math.max(wanted, ports));
    }

    @Property
    void largeGroupsDoNotAskForMoreQueuePairsThanANicHas(@ForAll @IntRange(min = 2, max = 30_000) int ranks) {
        int lanes = Lanes.count(0, Objective.HIGH_THROUGHPUT, 1, ranks);
        assertThat(lanes * (ranks - 1L)).isLessThanOrEqualTo(32_768);
    }

    @Test
    void smallGroupsHaveTheUsualNumber() {
        assertThat(Lanes.count(0, Objective.LOW_LATENCY, 1, 256)).isEqualTo(8);
        assertThat(Lanes.count(0, Objective.HIGH_THROUGHPUT, 2, 256)).isEqualTo(12);
        assertThat(Lanes.count(40, Objective.HIGH_THROUGHPUT, 1, 8192)).isEqualTo(40);
    }
}
