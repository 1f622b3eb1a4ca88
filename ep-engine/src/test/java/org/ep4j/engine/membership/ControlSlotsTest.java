package org.ep4j.engine.membership;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Slots through which ranks agree, on memory of this process. */
@Tag("verify")
final class ControlSlotsTest {
    private final List<HostMemory> memory = List.of(newMemory(), newMemory());
    private final ControlSlots sender = new ControlSlots(0, mapped(0, memory));
    private final ControlSlots receiver = new ControlSlots(1, mapped(1, memory));

    /** Memory that is mapped, by rank. */
    static ControlSlots.Memory mapped(int self, List<HostMemory> all) {
        Map<Integer, HostMemory> others = new TreeMap<>();
        for (int r = 0; r < all.size(); r++) {
            if (r != self) {
                others.put(r, all.get(r));
            }
        }
        return new ControlSlots.Memory(all.get(self), others, Map.of());
    }

    static HostMemory newMemory() {
        return newMemory(2);
    }

    static HostMemory newMemory(int ranks) {
        return HostMemory.of(ByteBuffer.allocateDirect((int) ControlSlots.bytes(ranks)));
    }

    private static byte[] bytes(int length, long seed) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    @Test
    void newMemoryHasNoMessage() {
        assertThat(receiver.version(0, ControlSlots.AGREEMENT)).isZero();
        assertThat(receiver.read(0, ControlSlots.AGREEMENT, 0)).isEmpty();
    }

    @Property(tries = 200)
    void readsWhatWasWrittenLast(
            @ForAll @IntRange(max = ControlSlots.EXCHANGE_BYTES) int first,
            @ForAll @IntRange(max = ControlSlots.EXCHANGE_BYTES) int second,
            @ForAll @IntRange(max = 2) int slot,
            @ForAll long seed) {
        long version = receiver.version(0, slot);
        sender.send(1, slot, version + 1, bytes(first, seed));
        assertThat(receiver.read(0, slot, version + 1)).contains(bytes(first, seed));
        sender.send(1, slot, version + 2, bytes(second, seed + 1));
        assertThat(receiver.read(0, slot, version + 1)).as("overwritten").isEmpty();
        assertThat(receiver.version(0, slot)).isEqualTo(version + 2);
        assertThat(receiver.read(0, slot, version + 2)).contains(bytes(second, seed + 1));
    }

    /** The writer is at work, or has ended in the middle of it. */
    @Property(tries = 200)
    void ignoresAMessageOfWhichPartIsOfAnotherOne(
            @ForAll @IntRange(min = 1, max = 300) int length, @ForAll @IntRange(max = 299) int at, @ForAll long seed) {
        sender.send(1, ControlSlots.AGREEMENT, receiver.version(0, ControlSlots.AGREEMENT) + 1, bytes(length, seed));
        long version = receiver.version(0, ControlSlots.AGREEMENT);
        // The bytes of a message lie behind three words.
        int offset = 24 + at % length;
        memory.get(1).putByte(offset, (byte) (memory.get(1).getByte(offset) + 1));
        assertThat(receiver.read(0, ControlSlots.AGREEMENT, version)).isEmpty();
    }

    /** The pieces of a message that is posted may arrive in any order. */
    @Test
    void doesNotTakeTheBytesOfAnOlderMessageForThoseOfAVersionThatCameFirst() {
        sender.send(1, ControlSlots.AGREEMENT, 1, bytes(100, 1));
        // The version is the first word of a slot.
        memory.get(1).putLong(0, 2);
        assertThat(receiver.version(0, ControlSlots.AGREEMENT)).isEqualTo(2);
        assertThat(receiver.read(0, ControlSlots.AGREEMENT, 2)).isEmpty();
    }

    @Test
    void slotsOfSourcesDoNotOverlap() {
        List<HostMemory> ofThree = Stream.generate(() -> newMemory(3)).limit(3).toList();
        List<ControlSlots> all = IntStream.range(0, 3)
                .mapToObj(r -> new ControlSlots(r, mapped(r, ofThree)))
                .toList();
        for (int source : new int[] {0, 2}) {
            for (int slot = 0; slot < 3; slot++) {
                all.get(source).send(1, slot, 1, bytes(ControlSlots.EXCHANGE_BYTES, 3 * source + slot));
            }
        }
        for (int source : new int[] {0, 2}) {
            for (int slot = 0; slot < 3; slot++) {
                assertThat(all.get(1).read(source, slot, 1))
                        .contains(bytes(ControlSlots.EXCHANGE_BYTES, 3 * source + slot));
            }
        }
    }

    /** A connection that is idle only after as many flushes as the test says. */
    private static final class Busy implements HostPosted {
        private final int flushesToIdle;
        private int flushes;
        private int writes;

        Busy(int flushesToIdle) {
            this.flushesToIdle = flushesToIdle;
        }

        @Override
        public boolean isIdle(int peer) {
            return flushes >= flushesToIdle;
        }

        @Override
        public void flush(int peer, long deadlineNanos) {
            flushes++;
        }

        @Override
        public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
            throw new AssertionError("control data must not wait for writes of high throughput");
        }

        @Override
        public void putMessage(int peer, long targetOffset, long sourceOffset, long bytes) {
            writes++;
        }

        @Override
        public void signal(int peer, int counter, long value) {}

        @Override
        public long counter(int counter, int source) {
            return 0;
        }
    }

    private static ControlSlots posting(Map<Integer, HostPosted> posted) {
        return new ControlSlots(0, new ControlSlots.Memory(newMemory(posted.size() + 1), Map.of(), posted));
    }

    /** Its queue is full, which a flush does not change: to post would wait for it. */
    @Test
    void nothingIsPostedToAPeerThatTakesNothing() {
        Busy stopped = new Busy(Integer.MAX_VALUE);
        ControlSlots slots = posting(Map.of(1, stopped));
        slots.send(1, ControlSlots.AGREEMENT, 1, bytes(8, 1));
        for (int i = 0; i < 1000; i++) {
            slots.sendDeferred();
        }
        assertThat(stopped.writes).isZero();
        assertThat(stopped.flushes).isBetween(1, 50);
        assertThat(slots.hasDeferred(1)).isTrue();
    }

    @Test
    void aMessageGetsItsTurnOnAConnectionThatOthersKeepBusy() {
        Busy busy = new Busy(1);
        ControlSlots slots = posting(Map.of(1, busy));
        slots.send(1, ControlSlots.AGREEMENT, 1, bytes(8, 1));
        for (int i = 0; i < 100; i++) {
            slots.sendDeferred();
        }
        assertThat(busy.writes).isOne();
        assertThat(slots.hasDeferred(1)).isFalse();
    }

    @Test
    void oneCallWaitsForOnePeerAtMost() {
        Map<Integer, HostPosted> all =
                Map.of(1, new Busy(Integer.MAX_VALUE), 2, new Busy(Integer.MAX_VALUE), 3, new Busy(Integer.MAX_VALUE));
        ControlSlots slots = posting(all);
        all.keySet().forEach(rank -> slots.send(rank, ControlSlots.AGREEMENT, 1, bytes(8, 1)));
        int before = 0;
        for (int i = 0; i < 200; i++) {
            slots.sendDeferred();
            int flushes =
                    all.values().stream().mapToInt(one -> ((Busy) one).flushes).sum();
            assertThat(flushes - before).isLessThan(2);
            before = flushes;
        }
        assertThat(all.values())
                .allSatisfy(one -> assertThat(((Busy) one).flushes).isPositive());
    }
}
