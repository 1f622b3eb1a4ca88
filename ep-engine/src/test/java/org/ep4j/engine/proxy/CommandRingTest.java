package org.ep4j.engine.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.ep4j.EpArgumentException;
import org.ep4j.engine.proxy.CommandRing.CommandSink;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.WordMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class CommandRingTest {
    /** Records commands. */
    private static final class Log implements CommandSink {
        private final List<String> commands = new ArrayList<>();

        @Override
        public void write(int ring, int peer, long target, long source, long bytes) {
            commands.add("write " + ring + " " + peer + " " + target + " " + source + " " + bytes);
        }

        @Override
        public void advance(int ring, int peer, int counter, long value) {
            commands.add("advance " + ring + " " + peer + " " + counter + " " + value);
        }
    }

    /** Against a queue: any mixture of puts and takes, over many laps; the ring is full when its commands are all there. */
    @Property(tries = 300)
    void theRingIsAQueueOfItsSize(
            @ForAll @IntRange(min = 1, max = 4) int shift,
            @ForAll @Size(max = 200) List<@IntRange(min = -20, max = 20) Integer> steps) {
        CommandRing ring = Rings.of(1 << shift);
        CommandProducer producer = new CommandProducer(ring);
        Log log = new Log();
        Queue<String> expected = new ArrayDeque<>();
        long value = 0;
        for (int step : steps) {
            for (int i = 0; i < step; i++) {
                boolean room = expected.size() < ring.commands();
                value++;
                boolean put = value % 2 == 0
                        ? producer.advance(3, 5, -value)
                        : producer.write(7, 16 * value, 32 * value, 48 * value);
                assertThat(put).isEqualTo(room);
                if (put) {
                    expected.add(
                            value % 2 == 0
                                    ? "advance 9 3 5 " + -value
                                    : "write 9 7 " + 16 * value + " " + 32 * value + " " + 48 * value);
                }
            }
            assertThat(ring.left()).isEqualTo(expected.size());
            if (step < 0) {
                int there = Math.min(-step, expected.size());
                assertThat(ring.take(9, -step, log, Rings.noFailures())).isEqualTo(there);
                for (int i = 0; i < there; i++) {
                    assertThat(log.commands.remove(0)).isEqualTo(expected.remove());
                }
                assertThat(log.commands).isEmpty();
            }
        }
    }

    @Test
    void theFirstLapHasPhaseOneAndTheSecondNone() {
        WordMemory memory = WordMemory.allocate(CommandRing.bytes(2));
        CommandRing ring = new CommandRing(memory.words(), 0, 2);
        CommandProducer producer = new CommandProducer(ring);
        List<Long> phases = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            producer.advance(0, 0, 77);
            int at = CommandRing.COMMANDS + i % 2 * Command.BYTES;
            assertThat(memory.words().getLong(at)).isEqualTo(77);
            phases.add(memory.words().getLong(at + 8) >>> 63);
            ring.take(0, 1, new Log(), Rings.noFailures());
            assertThat(memory.words().getLong(CommandRing.TAIL)).isEqualTo(i + 1);
        }
        assertThat(phases).containsExactly(1L, 1L, 0L, 0L, 1L, 1L);
    }

    /** A place that is taken by a producer and not written yet hides what is behind it. */
    @Test
    void takingStopsAtAPlaceThatIsNotWritten() {
        CommandRing ring = Rings.of(4);
        Log log = new Log();
        ring.put(1, 11, Commands.advanceWord1(0, 0));
        assertThat(ring.take(0, 4, log, Rings.noFailures())).isZero();
        ring.put(0, 10, Commands.advanceWord1(0, 0));
        assertThat(ring.take(0, 4, log, Rings.noFailures())).isEqualTo(2);
        assertThat(log.commands).containsExactly("advance 0 0 0 10", "advance 0 0 0 11");
    }

    @Test
    void aFailureOfTheSinkIsReportedAndTheNextCommandFollows() {
        CommandRing ring = Rings.of(8);
        CommandProducer producer = new CommandProducer(ring);
        List<String> failures = new ArrayList<>();
        for (int peer = 0; peer < 4; peer++) {
            producer.advance(peer, 1, peer);
        }
        ring.put(4, 0xab, 3L << 60 | 6L << 44);
        ring.put(5, 0xcd, Commands.advanceWord1(7, 1) | 1L << 40);
        CommandSink sink = new CommandSink() {
            @Override
            public void write(int r, int peer, long target, long source, long bytes) {}

            @Override
            public void advance(int r, int peer, int counter, long value) {
                if (peer % 2 == 1) {
                    throw new IllegalStateException("no " + peer);
                }
            }
        };
        int taken = ring.take(2, 100, sink, (failure, peer) -> failures.add(peer + " " + failure.getMessage()));
        assertThat(taken).isEqualTo(6);
        assertThat(failures).hasSize(4);
        assertThat(failures.subList(0, 2)).containsExactly("1 no 1", "3 no 3");
        assertThat(failures.get(2)).startsWith("6 ring 2 holds the words 0xab and 0xb000600000000000, which are no");
        assertThat(failures.get(3)).startsWith("7 ring 2 holds the words 0xcd and");
        assertThat(ring.tail()).isEqualTo(6);
    }

    @Test
    void aRestartedRingIsEmptyAndInItsFirstLap() {
        CommandRing ring = Rings.of(2);
        CommandProducer producer = new CommandProducer(ring);
        Log log = new Log();
        for (int i = 0; i < 3; i++) {
            producer.advance(0, 0, i);
            ring.take(0, 1, log, Rings.noFailures());
        }
        producer.advance(0, 0, 3);
        ring.restart();
        assertThat(ring.tail()).isZero();
        assertThat(ring.left()).isZero();
        log.commands.clear();
        CommandProducer again = new CommandProducer(ring);
        for (int i = 0; i < 5; i++) {
            again.advance(0, 0, 100 + i);
            ring.take(0, 1, log, Rings.noFailures());
        }
        assertThat(log.commands).hasSize(5).last().isEqualTo("advance 0 0 0 104");
    }

    @ParameterizedTest
    @ValueSource(ints = {Integer.MIN_VALUE, -4, 0, 1, 3, 100, 1 << 21})
    void otherThanPowersOfTwoAreRefused(int commands) {
        HostMemory memory = WordMemory.allocate(4096).words();
        assertThatThrownBy(() -> new CommandRing(memory, 0, commands))
                .isInstanceOf(EpArgumentException.class)
                .hasMessage("commands is " + commands
                        + ", must be a power of two from 2 to 1048576; set ep.proxy.ring-commands to such a number");
        assertThatThrownBy(() -> CommandRing.bytes(commands)).isInstanceOf(EpArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(longs = {-16, 8, 4096 - 128 - 1024 + 16, Long.MAX_VALUE})
    void aRingOutsideOfTheMemoryIsRefused(long offset) {
        HostMemory memory = WordMemory.allocate(4096).words();
        assertThat(new CommandRing(memory, 4096 - 128 - 1024, 64).commands()).isEqualTo(64);
        assertThatThrownBy(() -> new CommandRing(memory, offset, 64))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("offset is " + offset + ", must be a multiple of 16 from 0 to 2944");
    }
}
