package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.EpFailure;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.posted.PostedBuffer;
import org.ep4j.transport.posted.PostedMemory;
import org.ep4j.transport.posted.PostedPeer;

/**
 * What a counted write costs in Java, from the call to the post and from the completion to the reader: two links in one
 * thread send each other 8 bytes in turn over a wire that takes no time. A program, not a test: prints nanoseconds of half a
 * round trip, the least of many runs, to be compared with what a NIC takes.
 */
final class CountedWriteCost {
    private static final int RUNS = 40;
    private static final int TRIPS = 200_000;
    private static final int DEPTH = 128;

    private static final List<Integer> KEYS = List.of(0);

    private final PostedBuffer<?>[] buffers = new PostedBuffer<?>[2];
    private long sent;

    private CountedWriteCost(HostDevice device) {
        Words words = new Words(1, 1);
        LinkMemory.Layout layout = new LinkMemory.Layout(2, words.bytes());
        DeviceAllocation[] control = {device.allocate(layout.bytes()), device.allocate(layout.bytes())};
        DeviceAllocation[] counters = {device.allocate(IbrcMemory.bytes(2)), device.allocate(IbrcMemory.bytes(2))};
        DeviceAllocation[] data = {device.allocate(4096), device.allocate(4096)};
        LinkSettings settings = new LinkSettings(1 << 16, 32, Duration.ofSeconds(30));
        DirectWire[] wires = {new DirectWire(), new DirectWire()};
        IbrcMemory[] memories = new IbrcMemory[2];
        for (int side = 0; side < 2; side++) {
            wires[side].peer = wires[1 - side];
            Buffers.Counted counted =
                    new Buffers.Counted(HostMemory.of(counters[side].memory()), new AtomicLongArray(2));
            Buffers numbers = new Buffers();
            int number = numbers.add(counted);
            LinkMemory memory = new LinkMemory(
                    words,
                    layout,
                    region(control, side),
                    HostMemory.of(control[side].memory()),
                    side,
                    1 - side,
                    numbers);
            Lane.Ends ends = new Lane.Ends(0, 0, 0, DEPTH, DEPTH, 64, 1 << 20, "port", "port");
            Link link = new Link(
                    new PostedPeer(
                            1 - side,
                            1 - side,
                            "rank " + (1 - side),
                            EpFailure.builder("host-posted writes", 1 - side).build()),
                    memory,
                    settings,
                    false,
                    new Lanes(List.of(new Lane(0, 0, ends, new NicFlow(FlowLimits.NONE), settings)), 0, settings),
                    1,
                    wires[side]);
            memories[side] = new IbrcMemory(
                    ExposedMemory.of(data[side].memory()),
                    2,
                    new PostedMemory.Registrations(),
                    counted,
                    new IbrcMemory.LocalKeys(KEYS, KEYS),
                    new IbrcMemory.Key(number, remote(data[side]), remote(counters[side])),
                    false,
                    List.of(link));
            buffers[side] = new PostedBuffer<>(
                    IbrcProvider.ID,
                    "b",
                    side,
                    memories[side],
                    Map.of(1 - side, link),
                    new PostedBuffer.LastRead(),
                    closed -> {});
        }
        for (IbrcMemory memory : memories) {
            memory.keys(List.of(memories[0].key(), memories[1].key()));
        }
    }

    private static Region.Remote remote(DeviceAllocation memory) {
        return new Region.Remote(memory.memory().address(), KEYS);
    }

    private static Region region(DeviceAllocation[] memory, int side) {
        long[] addresses = {memory[0].memory().address(), memory[1].memory().address()};
        return new Region(addresses[side], true, new int[1], addresses, new int[2][1]);
    }

    public static void main(String[] arguments) {
        CountedWriteCost cost = new CountedWriteCost(new HostDevice());
        double least = Double.MAX_VALUE;
        for (int run = 0; run < RUNS; run++) {
            long start = System.nanoTime();
            for (int trip = 0; trip < TRIPS; trip++) {
                cost.send(0);
                cost.send(1);
            }
            least = Math.min(least, (System.nanoTime() - start) / (2.0 * TRIPS));
        }
        System.out.println(String.format(Locale.ROOT, "8 bytes, half a round trip: %.0f ns without the NIC", least));
    }

    private void send(int side) {
        sent++;
        buffers[side].put(1 - side, 0, 0, 8);
        buffers[side].signal(1 - side, 0, sent);
        while (buffers[1 - side].counter(0, side) < sent) {
            // The call polls.
        }
    }

    /** Every request has arrived and is complete as soon as it is posted. */
    private static final class DirectWire implements Wire {
        private final long[] ids = new long[2 * DEPTH];
        private final int[] immediates = new int[2 * DEPTH];
        private int count;
        private DirectWire peer = this;

        @Override
        public int post(SendQueue.Batch batch, int from, int to) {
            for (int i = from; i < to; i++) {
                if (batch.opcode(i) == SendQueue.IMMEDIATE) {
                    peer.add(Completions.receiveId(0), batch.immediate(i));
                }
                if ((batch.flags(i) & SendQueue.SIGNALED) != 0) {
                    add(batch.id(i), 0);
                }
            }
            return to;
        }

        private void add(long id, int immediate) {
            ids[count] = id;
            immediates[count++] = immediate;
        }

        @Override
        public int poll(Completions into, int polls) {
            int found = count;
            for (int i = 0; i < found; i++) {
                into.set(i, ids[i], 0, 0, immediates[i]);
            }
            count = 0;
            return found;
        }

        @Override
        public void stop(int lane) {
            throw new AssertionError("lane " + lane + " is given up");
        }

        @Override
        public int postReceives(int lane, int posted) {
            return posted;
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
}
