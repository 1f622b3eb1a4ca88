package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Random;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Guard;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.transport.posted.PostedBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Links over queue pairs that complete in any order and break at any moment. */
@Tag("verify")
final class LinkPropertyTest {
    private static final int ROUNDS = 40;

    @Property(tries = 300, verify = 120)
    void everyByteArrivesBeforeItsCounterOnceAndInOrder(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int rails,
            @ForAll @IntRange(min = 1, max = 4) int queuePairs,
            @ForAll boolean atomics) {
        try (LinkPair pair = new LinkPair(new Random(seed), rails, rails * queuePairs, atomics, settings(seed))) {
            pair.exchange(ROUNDS, 0);
            assertThat(pair.failovers()).isZero();
        }
    }

    @Property(tries = 300, verify = 120)
    void limitsOfTheNicsAreKept(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int rails,
            @ForAll @IntRange(min = 1, max = 4) int queuePairs,
            @ForAll @IntRange(min = 1, max = 6000) int bytes,
            @ForAll @IntRange(min = 1, max = 8) int writes,
            @ForAll boolean messages) {
        FlowLimits limits = new FlowLimits(bytes, messages ? 0 : writes, messages ? writes : 0, "");
        LinkPair pair = new LinkPair(new Random(seed), rails, rails * queuePairs, true, settings(seed), limits);
        try (pair) {
            pair.sendMessages(messages ? 1 : 0);
            pair.exchange(ROUNDS, 0);
            assertThat(pair.mostBytes()).isPositive().isLessThanOrEqualTo(bytes);
            assertThat(pair.mostWrites()).isPositive().isLessThanOrEqualTo(writes);
            assertThat(pair.holdsNothing()).isTrue();
        }
    }

    @Test
    void aMessageHasRoomBesideAWriteThatIsInFlightAndNoOtherWriteHas() {
        LinkSettings settings = new LinkSettings(128, 4, Duration.ofMillis(50));
        try (LinkPair pair = new LinkPair(new Random(1), 1, 1, true, settings, new FlowLimits(0, 1, 1, ""))) {
            PostedBuffer<IbrcMemory> buffer = pair.buffer(0);
            pair.stallWhile(() -> true);
            buffer.put(1, 0, 0, 64);
            buffer.putMessage(1, 64, 64, 64);
            assertThatThrownBy(() -> buffer.put(1, 0, 0, 64)).isInstanceOf(EpTimeoutException.class);
            assertThatThrownBy(() -> buffer.putMessage(1, 0, 0, 64)).isInstanceOf(EpTimeoutException.class);
        }
    }

    @Property(tries = 1000, verify = 400)
    void brokenRailsLoseAndRepeatNothing(
            @ForAll long seed,
            @ForAll @IntRange(min = 2, max = 4) int rails,
            @ForAll @IntRange(min = 1, max = 3) int queuePairs,
            @ForAll boolean atomics,
            @ForAll @IntRange(min = 1, max = 6000) int bytes,
            @ForAll @IntRange(min = 0, max = 8) int writes,
            @ForAll @IntRange(min = 0, max = 8) int messages) {
        FlowLimits limits = new FlowLimits(seed % 2 == 0 ? 0 : bytes, writes, messages, "");
        LinkPair pair = new LinkPair(new Random(seed), rails, rails * queuePairs, atomics, settings(seed), limits);
        try (pair) {
            pair.sendMessages(0.5);
            pair.exchange(ROUNDS, rails - 1);
            assertThat(pair.failovers()).isEqualTo(2 * (rails - 1));
            assertThat(pair.holdsNothing()).isTrue();
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

    @Test
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
        return new LinkSettings(128L << random.nextInt(4), 1 + random.nextInt(32), Guard.minute());
    }
}
