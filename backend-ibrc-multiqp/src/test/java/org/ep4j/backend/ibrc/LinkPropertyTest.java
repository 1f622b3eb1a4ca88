package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Random;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.ep4j.EpPeerLostException;
import org.ep4j.plan.offer.FlowLimits;

/** Links over queue pairs that complete in any order and break at any moment. */
final class LinkPropertyTest {
    private static final int ROUNDS = 40;

    @Property(tries = 300)
    void everyByteArrivesBeforeItsCounterOnceAndInOrder(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int rails,
            @ForAll @IntRange(min = 1, max = 4) int queuePairs,
            @ForAll boolean atomics) {
        try (LinkPair pair =
                new LinkPair(new Random(seed), rails, rails * queuePairs, atomics, settings(seed), limits(seed))) {
            pair.exchange(ROUNDS, 0);
            assertThat(pair.flows()).allMatch(flow -> flow.writes() == 0 && flow.bytes() == 0);
            assertThat(pair.failovers()).isZero();
            if (limits(seed).bytes() > 0) {
                assertThat(pair.mostTogether()).isLessThanOrEqualTo(limits(seed).bytes());
            }
        }
    }

    /** One waits for what the other has under way, and takes in its completions. */
    @Property(tries = 100)
    void linksToTwoPeersShareTheLimitOfAPort(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 2) int rails, @ForAll boolean atomics) {
        FlowLimits limits = new FlowLimits("", 512, 0, 0);
        Random random = new Random(seed);
        try (LinkPair one = new LinkPair(random, rails, 2 * rails, atomics, settings(seed), limits);
                LinkPair other = new LinkPair(random, 2 * rails, atomics, settings(seed), one)) {
            int idle = 0;
            while (!one.done(ROUNDS) || !other.done(ROUNDS)) {
                boolean moved = one.turn(ROUNDS);
                moved |= other.turn(ROUNDS);
                idle = moved ? 0 : idle + 1;
                assertThat(idle).as("turns in which nothing moved").isLessThan(200_000);
            }
            one.exchange(ROUNDS, 0);
            other.exchange(ROUNDS, 0);
            assertThat(one.mostTogether()).isLessThanOrEqualTo(limits.bytes());
            assertThat(one.flows()).allMatch(flow -> flow.writes() == 0 && flow.bytes() == 0);
        }
    }

    @Property(tries = 1000)
    void brokenRailsLoseAndRepeatNothing(
            @ForAll long seed,
            @ForAll @IntRange(min = 2, max = 4) int rails,
            @ForAll @IntRange(min = 1, max = 3) int queuePairs,
            @ForAll boolean atomics) {
        try (LinkPair pair =
                new LinkPair(new Random(seed), rails, rails * queuePairs, atomics, settings(seed), limits(seed))) {
            pair.exchange(ROUNDS, rails - 1);
            assertThat(pair.flows()).allMatch(flow -> flow.writes() == 0 && flow.bytes() == 0);
            assertThat(pair.failovers()).isEqualTo(2 * (rails - 1));
        }
    }

    @Property(tries = 50)
    void withoutAnyRailBothSidesAreToldWhy(@ForAll long seed, @ForAll @IntRange(min = 1, max = 3) int rails) {
        try (LinkPair pair = new LinkPair(new Random(seed), rails, 2 * rails, true, settings(seed))) {
            pair.exchange(3, 0);
            for (int rail = 0; rail < rails; rail++) {
                pair.breakRail(rail);
            }
            assertThatThrownBy(() -> pair.exchange(1000, 0))
                    .isInstanceOf(EpPeerLostException.class)
                    .hasMessageContainingAll(
                            "rank ", "cannot be reached", "port-0", "status 12 (fake)", "vendor error 0x81");
        }
    }

    @Example
    void countersCarryAllBitsAlsoAsImmediates() {
        for (boolean atomics : new boolean[] {true, false}) {
            try (LinkPair pair = new LinkPair(new Random(1), 2, 4, atomics, settings(1))) {
                long[] values = {1, 0xffff, 0x1_0000, 0x1_0001, 0x7fff_ffff_ffffL, Long.MAX_VALUE};
                for (long value : values) {
                    pair.advance(0, 3, value);
                    assertThat(pair.awaitSeen(1, 3, value)).isEqualTo(value);
                }
            }
        }
    }

    private static LinkSettings settings(long seed) {
        Random random = new Random(seed ^ 0x5eed);
        return new LinkSettings(128L << random.nextInt(4), 1 + random.nextInt(32), Duration.ofSeconds(20));
    }

    /** Those of the test are all small. */
    private static FlowLimits limits(long seed) {
        Random random = new Random(seed ^ 0x11417);
        return new FlowLimits(
                "", random.nextInt(3) == 0 ? 512 : 0, 0, random.nextInt(3) == 0 ? 1 + random.nextInt(10) : 0);
    }
}
