package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpResourceException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.memory.Resources;
import org.ep4j.plan.offer.FlowLimits;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Buffers of rank 0 for rank 1, over one queue pair whose requests are acknowledged when the test says so. */
@Timeout(60)
final class IbrcBufferTest {
    private static final int COUNTER = 3;
    private static final int BYTES = 4096;

    private final HostDevice device = new HostDevice();
    private final List<DeviceAllocation> allocations = new ArrayList<>();
    private final Words words = new Words(1, 1);
    private final LinkMemory.Layout layout = new LinkMemory.Layout(2, words.bytes());
    private final long[] control = {allocate(layout.bytes()), allocate(layout.bytes())};
    private final long[] data = {allocate(BYTES), allocate(BYTES)};
    private final SlowWire wire = new SlowWire();
    private final Buffers buffers = new Buffers();
    private final LingeringCounters lingering = new LingeringCounters();
    private final Link link = link();

    private long allocate(long bytes) {
        DeviceAllocation allocation = device.allocate(bytes);
        allocations.add(allocation);
        return allocation.memory().address();
    }

    private Link link() {
        LinkSettings settings = new LinkSettings(1 << 20, 1, Duration.ofMillis(100));
        Lane lane = new Lane(
                0,
                0,
                new LaneEnds(0, 0, 0, 64, 0, 0, 1 << 20, "port-0", "port-0"),
                settings,
                new PortFlow(new FlowLimits("", 0, 0, 0)));
        HostMemory local = FakeFabric.memory(control[0], layout.bytes());
        local.putLong(layout.one(), 1);
        LinkMemory memory = new LinkMemory(words, layout, region(control), local, 0, 1, buffers);
        return new Link(new LinkPeer(1, 1, "rank 1", 0), memory, settings, true, List.of(lane), 1, wire);
    }

    private static Region region(long[] addresses) {
        return new Region(addresses[0], true, new int[1], addresses, new int[2][1]);
    }

    /** A buffer, with the counters that both sides have of it. */
    private final class Made {
        final long[] counters = {allocate(Farewells.bytes(2)), allocate(Farewells.bytes(2))};
        final HostMemory here = FakeFabric.memory(counters[0], Farewells.bytes(2));
        final HostMemory there = FakeFabric.memory(counters[1], Farewells.bytes(2));
        final int number;
        final IbrcBuffer buffer;

        Made() {
            Farewells farewells = new Farewells(here, 2);
            farewells.prepare();
            Buffers.Counted counted = new Buffers.Counted(here, new AtomicLongArray(2));
            number = buffers.add(counted);
            Resources held = new Resources();
            held.add(() -> buffers.remove(number));
            buffer = new IbrcBuffer(
                    "b" + number,
                    0,
                    0,
                    new DeviceMemory(data[0], BYTES, Device.HOST),
                    new Exposure.Exposed(
                            region(data),
                            region(counters),
                            counted,
                            farewells,
                            List.of(number, number),
                            new Resources(),
                            held),
                    Map.of(1, link),
                    new Looks(),
                    true,
                    lingering,
                    closed -> {});
        }

        /** The peer says that it has closed. */
        void peerCloses() {
            here.putLongRelease(2L * LinkMemory.COUNTERS + 8, 1);
        }

        long counterThere() {
            return there.getLongAcquire(8L * COUNTER);
        }
    }

    @AfterEach
    void free() {
        allocations.forEach(DeviceAllocation::close);
    }

    private static final class SlowWire implements Wire {
        private final Deque<Long> posted = new ArrayDeque<>();
        private boolean answers = true;

        @Override
        public int post(Commands commands, int from, int to) {
            for (int i = from; i < to; i++) {
                if (commands.opcode(i) == Commands.ADD) {
                    HostMemory word = FakeFabric.memory(commands.remote(i), 8);
                    word.putLong(0, word.getLong(0) + commands.added(i));
                }
                posted.add(commands.id(i));
            }
            return to;
        }

        @Override
        public int poll(Completions into, int looks) {
            int count = 0;
            while (answers && count < into.capacity() && !posted.isEmpty()) {
                into.set(count++, posted.remove(), 0, 0, 0);
            }
            return count;
        }

        @Override
        public void stop(int lane) {}

        @Override
        public int postReceives(int lane, int count) {
            return count;
        }

        @Override
        public String status(int status) {
            return "made up";
        }

        @Override
        public String error(int error) {
            return "error " + error;
        }
    }

    private static void fill(IbrcBuffer buffer) {
        for (int i = 0; i < 1000; i++) {
            buffer.write(1, 0, 2048, 8);
        }
    }

    /** As when a port fails over for longer than ep.timeout: room comes back, and the refused write does not. */
    @Test
    void noCounterAdvancesPastAWriteThatFoundNoRoomUntilThePeerIsDrained() {
        Made made = new Made();
        Made other = new Made();
        wire.answers = false;
        assertThatThrownBy(() -> fill(made.buffer)).isInstanceOf(EpTimeoutException.class);
        wire.answers = true;
        link.tryProgress();
        assertThatThrownBy(() -> made.buffer.advance(1, COUNTER, 1))
                .isInstanceOfSatisfying(
                        EpTimeoutException.class, e -> assertThat(e.peer()).isEqualTo(1))
                .hasMessageContainingAll("buffer \"b0\" of rank 0", "rank 1", "took nothing", "recover");
        assertThatThrownBy(() -> made.buffer.write(1, 0, 2048, 0)).isInstanceOf(EpTimeoutException.class);
        assertThat(made.counterThere()).isZero();
        // Of another buffer nothing is missing.
        other.buffer.advance(1, COUNTER, 5);
        made.buffer.drain(1, Duration.ofSeconds(10));
        made.buffer.write(1, 0, 2048, 8);
        made.buffer.advance(1, COUNTER, 2);
        made.buffer.drain(1, Duration.ofSeconds(10));
        assertThat(made.counterThere()).isEqualTo(2);
        assertThat(other.counterThere()).isEqualTo(5);
    }

    @Test
    void aDrainThatFailsLeavesThePeerRefused() {
        Made made = new Made();
        wire.answers = false;
        assertThatThrownBy(() -> fill(made.buffer)).isInstanceOf(EpTimeoutException.class);
        assertThatThrownBy(() -> made.buffer.drain(1, Duration.ofMillis(10))).isInstanceOf(EpTimeoutException.class);
        wire.answers = true;
        link.tryProgress();
        assertThatThrownBy(() -> made.buffer.advance(1, COUNTER, 1)).isInstanceOf(EpTimeoutException.class);
        link.end("cut off");
        assertThatThrownBy(() -> made.buffer.drain(1, Duration.ofSeconds(1))).isInstanceOf(EpPeerLostException.class);
    }

    /** Numbers of buffers that the peer closes later are free again, however many there were. */
    @Test
    void aNumberIsFreeOnceThePeerHasClosedToo() {
        List<Made> all = new ArrayList<>();
        for (int i = 0; i < Immediate.BUFFERS; i++) {
            all.add(new Made());
        }
        assertThatThrownBy(() -> new Made())
                .isInstanceOf(EpResourceException.class)
                .hasMessageContaining(Immediate.BUFFERS + " buffers are open");
        all.parallelStream().forEach(one -> one.buffer.close());
        lingering.free();
        // The peer may still count up any of them.
        assertThatThrownBy(() -> new Made()).isInstanceOf(EpResourceException.class);
        all.get(5).peerCloses();
        lingering.free();
        assertThat(new Made().number).isEqualTo(5);
        assertThatThrownBy(() -> new Made()).isInstanceOf(EpResourceException.class);
        all.forEach(Made::peerCloses);
        for (int cycle = 0; cycle < 2 * Immediate.BUFFERS; cycle++) {
            lingering.free();
            Made made = new Made();
            made.peerCloses();
            made.buffer.close();
        }
    }

    @Test
    void aNumberIsFreeOnceThePeerIsLost() {
        Made made = new Made();
        made.buffer.close();
        lingering.free();
        link.end("cut off");
        lingering.free();
        for (int i = 0; i < Immediate.BUFFERS; i++) {
            buffers.add(new Buffers.Counted(made.here, new AtomicLongArray(2)));
        }
    }

    @Test
    void whatIsLeftIsGivenBackWithTheBackend() {
        Made made = new Made();
        made.buffer.close();
        lingering.close();
        for (int i = 0; i < Immediate.BUFFERS; i++) {
            buffers.add(new Buffers.Counted(made.here, new AtomicLongArray(2)));
        }
    }

    @Test
    void recordsOfSurvivorsKeepTheirIndexes() {
        BufferRecord one = new BufferRecord(BYTES, 7, new MemoryRecord(8, List.of(1)), new MemoryRecord(9, List.of(2)));
        assertThat(Exposure.byPlace(List.of(2, 3, 5), List.of(5), List.of(one)))
                .containsExactly(BufferRecord.ABSENT, BufferRecord.ABSENT, one);
    }
}
