package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A link over three rails whose requests are executed at once, and whose completions the test makes. */
class LinkTest {
    private static final int RAILS = 3;
    private static final int COUNTER = 3;
    private static final int LATER_RAIL = 2;

    private final HostDevice device = new HostDevice();
    private final List<DeviceAllocation> allocations = new ArrayList<>();
    private final Words words = new Words(RAILS, RAILS);
    private final LinkMemory.Layout layout = new LinkMemory.Layout(2, words.bytes());
    private final long[] control = {allocate(layout.bytes()), allocate(layout.bytes())};
    private final long[] counters = {allocate(2L * LinkMemory.COUNTERS), allocate(2L * LinkMemory.COUNTERS)};
    private final long[] data = {allocate(4096), allocate(4096)};
    private final ScriptedWire wire = new ScriptedWire();
    private final Region dataRegion = region(data, 4096);
    private final Region counterRegion = region(counters, 2L * LinkMemory.COUNTERS);
    private final Link link = link();

    private long allocate(long bytes) {
        DeviceAllocation allocation = device.allocate(bytes);
        allocations.add(allocation);
        return allocation.memory().address();
    }

    private static Region region(long[] addresses, long bytes) {
        return new Region(addresses[0], bytes, new int[1], addresses, new int[2][1]);
    }

    private Link link() {
        LinkSettings settings = new LinkSettings(128, 4, 0, 0, Duration.ofSeconds(20));
        List<Lane> lanes = new ArrayList<>();
        for (int lane = 0; lane < RAILS; lane++) {
            lanes.add(new Lane(lane, lane, new LaneEnds(lane, 0, 0, 64, 0, 0, 1000, "port-" + lane), settings));
        }
        HostMemory local = FakeFabric.memory(control[0], layout.bytes());
        local.putLong(layout.one(), 1);
        LinkMemory memory = new LinkMemory(
                words, layout, region(control, layout.bytes()), local, 0, 1, (buffer, word, delta) -> {});
        return new Link(new LinkPeer(1, 1, "rank 1", 0), memory, settings, true, lanes, RAILS, wire);
    }

    @AfterEach
    void free() {
        allocations.forEach(DeviceAllocation::close);
    }

    /** The peer has stopped a rail too. */
    private void peerStops(int rail) {
        FakeFabric.memory(control[0], layout.bytes()).putLongRelease(layout.stride() + words.stopped(rail), 1);
    }

    private final class ScriptedWire implements Wire {
        private record Done(long id, int status) {}

        private final Deque<Done> completions = new ArrayDeque<>();
        private boolean broken;
        private boolean laterRailFailed;

        @Override
        public int post(Commands commands, int from, int to) {
            for (int i = from; i < to; i++) {
                execute(commands, i);
            }
            return to;
        }

        private void execute(Commands commands, int i) {
            long remote = commands.remote(i);
            switch (commands.opcode(i)) {
                case Commands.ADD -> {
                    HostMemory word = FakeFabric.memory(remote, 8);
                    word.putLong(0, word.getLong(0) + commands.added(i));
                }
                case Commands.READ ->
                    FakeFabric.memory(commands.local(i), commands.length(i))
                            .copy(0, FakeFabric.memory(remote, commands.length(i)), 0, commands.length(i));
                default -> {}
            }
            // The other lanes never hear of what was executed.
            if (commands.lane(i) == 1) {
                completions.add(new Done(commands.id(i), 0));
            }
            if (commands.opcode(i) == Commands.READ && !laterRailFailed) {
                laterRailFailed = true;
                fail(LATER_RAIL);
            }
        }

        void fail(int rail) {
            completions.add(new Done(CompletionId.send(rail, 0), Status.RETRIES));
            peerStops(rail);
        }

        @Override
        public int poll(Completions into) {
            if (broken) {
                throw new EpException("ibv_poll_cq failed: error 5 (made up)");
            }
            int count = 0;
            for (; !completions.isEmpty(); count++) {
                Done done = completions.remove();
                into.set(count, done.id(), done.status(), 0, false, 0);
            }
            return count;
        }

        @Override
        public void stop(int lane) {}

        @Override
        public int postReceives(int lane, int count) {
            return 0;
        }

        @Override
        public String status(int status) {
            return status + " (made up)";
        }

        @Override
        public String error(int error) {
            return "error " + error;
        }
    }

    @Test
    void aRailThatFailsWhileWordsAreReadForAnotherChangesNothingOfWhatIsReadForThat() {
        long[] sent = new long[64];
        link.advance(counterRegion, 0, COUNTER, sent, 1);
        link.write(dataRegion, 0, 2048, 1024);
        link.advance(counterRegion, 0, COUNTER, sent, 2);
        wire.fail(0);
        link.drain(Duration.ofSeconds(20));
        assertThat(link.traffic().failovers()).isEqualTo(2);
        long there = FakeFabric.memory(counters[1], 2L * LinkMemory.COUNTERS).getLong(8L * COUNTER);
        assertThat(there).isEqualTo(2);
    }

    @Test
    void aLinkWithoutCompletionsIsLostForWhoeverUsesIt() {
        wire.broken = true;
        assertThat(link.tryProgress()).isTrue();
        assertThatThrownBy(() -> link.write(dataRegion, 0, 2048, 8))
                .isInstanceOf(EpPeerLostException.class)
                .hasMessageContaining("ibv_poll_cq failed: error 5");
    }

    @Test
    void aThreadIsWaitedForByOneThatIsInterrupted() {
        Thread waiting = Thread.currentThread();
        Thread ended = new Thread(() -> {});
        // Loads the class, so that nothing but the wait meets the interrupt.
        assertThat(ProgressThreads.joined(ended)).isFalse();
        Thread other = new Thread(() -> {
            waiting.interrupt();
            while (waiting.isInterrupted()) {
                Thread.onSpinWait();
            }
        });
        other.start();
        boolean interrupted = ProgressThreads.joined(other);
        assertThat(interrupted).isTrue();
        assertThat(other.isAlive()).isFalse();
    }

    @Test
    void aBufferThatIsClosedCountsNothing() {
        HostMemory memory = FakeFabric.memory(counters[0], 2L * LinkMemory.COUNTERS);
        Buffers buffers = new Buffers();
        int number = buffers.add(memory);
        buffers.add(number, 8, 3);
        assertThat(memory.getLong(8)).isEqualTo(3);
        buffers.remove(number);
        buffers.add(number, 8, 3);
        assertThat(memory.getLong(8)).isEqualTo(3);
    }

    @Test
    void aGidIndexBehindTheTableIsRefusedWithTheLimit() {
        LocalPort.checkGidIndex("mlx5_0:1", 15, 16);
        assertThatThrownBy(() -> LocalPort.checkGidIndex("mlx5_0:1", 16, 16))
                .hasMessageContainingAll("ep.nic.gid-index is 16", "mlx5_0:1", "15");
        assertThatThrownBy(() -> LocalPort.checkGidIndex("mlx5_0:1", 256, 1024)).hasMessageContaining("255");
    }
}
