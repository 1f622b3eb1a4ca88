package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.ep4j.EpTimeoutException;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Guard;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.posted.PostedBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Links over a network that keeps no order, holds completions back and has little room. */
@Tag("verify")
final class LinkPropertyTest {
    private static final Duration TIMEOUT = Guard.minute();

    @Property(tries = 200)
    void everyByteArrivesBeforeItsCounterAndCountersInOrder(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 4) int rails,
            @ForAll @IntRange(min = 1, max = 48) int depth,
            @ForAll boolean virtual,
            @ForAll boolean chunks) {
        long chunk = chunks ? 10_007 : Keys.WHOLE;
        LinkPair pair = new LinkPair(seed, new LinkPair.Shape(rails, depth, virtual, chunk, NicProfile.ANY, TIMEOUT));
        pair.exchange(120);
    }

    /** Places of records are used many times over, and the peer's word that they are free is waited for. */
    @Property(tries = 10)
    void moreAdvancesThanPlaces(@ForAll long seed, @ForAll @IntRange(min = 1, max = 2) int rails) {
        new LinkPair(seed, LinkPair.Shape.of(rails)).exchange(3 * Records.COUNT + 17);
    }

    /** A batch of many small writes, whose immediates nobody takes for a while, fits into the queue of the peer. */
    @Property(tries = 20)
    void noMoreImmediatesComeThanThePeerHasRoomFor(@ForAll long seed, @ForAll @IntRange(min = 1, max = 3) int rails) {
        LinkPair pair = new LinkPair(seed, LinkPair.Shape.of(rails));
        int[] polls = {0};
        pair.fabric().pump(1, () -> {
            polls[0]++;
            for (int i = 0; polls[0] % 400 == 0 && i < 200; i++) {
                pair.link(1).tryProgress();
            }
        });
        for (int i = 0; i < 3 * Link.CREDIT; i++) {
            pair.write(0, 8L * i, 8L * i, 8);
        }
        pair.advance(0, 0, 1);
        pair.link(0).flush(Deadline.in(TIMEOUT), Link.NO_CHECK);
        for (int i = 0; i < 1000; i++) {
            pair.link(1).tryProgress();
        }
        assertThat(pair.seen(1, 0)).isEqualTo(1);
        assertThat(pair.fabric().mostWaiting()).isLessThanOrEqualTo(Link.CREDIT + Records.COUNT);
    }

    @Test
    void aMessageHasRoomBesideAWriteThatIsInFlightAndNoOtherWriteHas() {
        NicProfile profile = new NicProfile(new FlowLimits(0, 1, 1, ""), 8, 8, 32, Keys.WHOLE);
        LinkPair pair = new LinkPair(1, new LinkPair.Shape(1, 64, true, Keys.WHOLE, profile, Duration.ofMillis(50)));
        PostedBuffer<EfaMemory> buffer = pair.buffer(0);
        pair.fabric().stick();
        buffer.put(1, 0, 0, 64);
        buffer.putMessage(1, 64, 64, 64);
        assertThatThrownBy(() -> buffer.put(1, 0, 0, 64)).isInstanceOf(EpTimeoutException.class);
        assertThatThrownBy(() -> buffer.putMessage(1, 0, 0, 64)).isInstanceOf(EpTimeoutException.class);
    }

    @Property(tries = 50)
    void limitsOfTheNicAreKept(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 3) int writes,
            @ForAll @IntRange(min = 1000, max = 70_000) int bytes,
            @ForAll boolean messages) {
        FlowLimits limits = new FlowLimits(bytes, messages ? 0 : writes, messages ? writes : 0, "");
        NicProfile profile = new NicProfile(limits, 3, 5, 4, Keys.WHOLE);
        LinkPair pair = new LinkPair(seed, new LinkPair.Shape(1, 64, true, Keys.WHOLE, profile, TIMEOUT));
        pair.sendMessages(messages);
        pair.exchange(40);
        // Records and words go beside it.
        long records = (long) profile.slots() * Records.SIZE;
        assertThat(pair.fabric().mostBytes()).isLessThanOrEqualTo(bytes + records);
        assertThat(pair.fabric().mostData()).isPositive().isLessThanOrEqualTo(writes);
    }
}
