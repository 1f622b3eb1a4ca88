package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.BooleanSupplier;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpFailure;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.posted.PostedBuffer;
import org.ep4j.transport.posted.PostedMemory;
import org.ep4j.transport.posted.PostedPeer;

/** Two links over a fake fabric, that send each other random writes and check every byte. For one thread. */
final class LinkPair implements AutoCloseable {
    private static final int DEPTH = 16;
    private static final int SLOTS = 3;
    private static final List<Integer> KEYS = List.of(0);
    private static final int SLOT = 4096;
    private static final int SENT = 7;
    private static final int CHECKED = 8;
    /** Advanced in every round before {@link #SENT}, which shows that counters are seen in order. */
    private static final int BEFORE = 60;

    private final HostDevice device = new HostDevice();
    private final List<DeviceAllocation> allocations = new ArrayList<>();
    private final Random random;
    private final FakeFabric fabric;
    private final int rails;
    private double messages;
    private final Side[] sides = new Side[2];
    private final List<NicFlow> flows = new ArrayList<>();

    /** What one side has. */
    private static final class Side {
        final HostMemory data;
        final Link link;
        final IbrcMemory memory;
        final PostedBuffer<IbrcMemory> buffer;
        long sentRounds;
        long checkedRounds;

        Side(HostMemory data, int side, Link link, IbrcMemory memory) {
            this.data = data;
            this.link = link;
            this.memory = memory;
            this.buffer = new PostedBuffer<>(
                    IbrcProvider.ID,
                    "b",
                    side,
                    memory,
                    Map.of(1 - side, link),
                    new PostedBuffer.LastRead(),
                    closed -> {});
        }
    }

    LinkPair(Random random, int rails, int lanes, boolean atomics, LinkSettings settings) {
        this(random, rails, lanes, atomics, settings, FlowLimits.NONE);
    }

    /**
     * Two links whose ports are of NICs of their own.
     *
     * @param limits of each NIC
     */
    LinkPair(Random random, int rails, int lanes, boolean atomics, LinkSettings settings, FlowLimits limits) {
        this.random = random;
        this.rails = rails;
        int receives = atomics ? 0 : DEPTH;
        this.fabric = new FakeFabric(random, lanes, rails, DEPTH, receives);
        Words words = new Words(lanes, rails);
        LinkMemory.Layout layout = new LinkMemory.Layout(2, words.bytes());
        long[] control = {allocate(layout.bytes()), allocate(layout.bytes())};
        long[] counters = {allocate(IbrcMemory.bytes(2)), allocate(IbrcMemory.bytes(2))};
        long[] data = {allocate(2L * SLOTS * SLOT), allocate(2L * SLOTS * SLOT)};
        for (int side = 0; side < 2; side++) {
            HostMemory local = FakeFabric.memory(control[side], layout.bytes());
            local.putLong(layout.one(), 1);
            HostMemory ownCounters = FakeFabric.memory(counters[side], IbrcMemory.bytes(2));
            Buffers.Counted counted = new Buffers.Counted(ownCounters, new AtomicLongArray(2));
            Buffers buffers = new Buffers();
            int number = buffers.add(counted);
            Region controlRegion = region(control, side);
            LinkMemory memory = new LinkMemory(words, layout, controlRegion, local, side, 1 - side, buffers);
            List<NicFlow> nics = new ArrayList<>();
            for (int rail = 0; rail < rails; rail++) {
                nics.add(new NicFlow(limits));
            }
            flows.addAll(nics);
            Lane[] all = new Lane[lanes];
            for (int lane = 0; lane < lanes; lane++) {
                Lane.Ends ends = new Lane.Ends(
                        lane,
                        0,
                        0,
                        DEPTH,
                        receives,
                        random.nextInt(2) * 64,
                        1000,
                        "nic-" + lane % rails,
                        "port-" + lane % rails);
                all[lane] = new Lane(lane, lane % rails, ends, nics.get(lane % rails), settings);
            }
            PostedPeer peer = new PostedPeer(
                    1 - side,
                    1 - side,
                    "rank " + (1 - side),
                    EpFailure.builder("host-posted writes", 1 - side).build());
            Lanes ofSide = new Lanes(List.of(all), random.nextInt(lanes), settings);
            Link link = new Link(peer, memory, settings, atomics, ofSide, rails, fabric.wire(side));
            fabric.join(side, link);
            long bytes = 2L * SLOTS * SLOT;
            IbrcMemory registered = new IbrcMemory(
                    ExposedMemory.of(DeviceMemory.of(data[side], bytes, Device.HOST)),
                    2,
                    new PostedMemory.Registrations(),
                    counted,
                    new IbrcMemory.LocalKeys(KEYS, KEYS),
                    new IbrcMemory.Key(
                            number, new Region.Remote(data[side], KEYS), new Region.Remote(counters[side], KEYS)),
                    atomics,
                    List.of(link));
            sides[side] = new Side(FakeFabric.memory(data[side], bytes), side, link, registered);
        }
        for (Side side : sides) {
            side.memory.keys(List.of(sides[0].memory.key(), sides[1].memory.key()));
        }
    }

    private static Region region(long[] addresses, int side) {
        return new Region(addresses[side], true, new int[1], addresses, new int[2][1]);
    }

    private long allocate(long bytes) {
        DeviceAllocation allocation = device.allocate(bytes);
        allocations.add(allocation);
        return allocation.memory().address();
    }

    Link link(int side) {
        return sides[side].link;
    }

    /** Most bytes of writes that were in flight on one NIC. */
    long mostBytes() {
        return fabric.mostBytes();
    }

    /** Most writes that were in flight on one NIC. */
    long mostWrites() {
        return fabric.mostWrites();
    }

    /** Sets how many of the writes that are exchanged later are of low latency, from 0 to 1. */
    void sendMessages(double share) {
        messages = share;
    }

    /** Returns whether nothing holds room on any NIC. */
    boolean holdsNothing() {
        return flows.stream().allMatch(flow -> flow.bytes() == 0 && flow.writes(false) == 0 && flow.writes(true) == 0);
    }

    /** Nothing arrives, on any rail, and nothing fails, as long as {@code stalled} holds. */
    void stallWhile(BooleanSupplier stalled) {
        fabric.stallWhile(stalled);
    }

    void write(int side, int bytes) {
        sides[side].link.put(sides[side].memory, 0, 0, bytes, false, Link.NO_CHECK);
    }

    /** The buffer of a side. */
    PostedBuffer<IbrcMemory> buffer(int side) {
        return sides[side].buffer;
    }

    /** The memory of the buffer of a side. */
    IbrcMemory memory(int side) {
        return sides[side].memory;
    }

    void breakRail(int rail) {
        fabric.breakRail(rail);
    }

    int failovers() {
        return sides[0].link.traffic().failovers() + sides[1].link.traffic().failovers();
    }

    void advance(int side, int counter, long value) {
        sides[side].buffer.signal(1 - side, counter, value);
    }

    private long seen(int side, int counter) {
        Side own = sides[side];
        own.link.tryProgress();
        return own.buffer.counter(counter, 1 - side);
    }

    long awaitSeen(int side, int counter, long value) {
        for (int tries = 0; tries < 100_000 && seen(side, counter) < value; tries++) {
            fabric.step();
        }
        return seen(side, counter);
    }

    /** Goes on until both sides have sent and checked so many rounds, and breaks so many rails on the way. */
    void exchange(int rounds, int toBreak) {
        List<Integer> order = new ArrayList<>();
        for (int rail = 0; rail < rails; rail++) {
            order.add(rail);
        }
        Collections.shuffle(order, random);
        List<Integer> breaks = new ArrayList<>(order.subList(0, toBreak));
        int idle = 0;
        while (!done(0, rounds) || !done(1, rounds)) {
            if (!breaks.isEmpty() && random.nextInt(40) == 0) {
                fabric.breakRail(breaks.remove(0));
            }
            boolean moved = play(0, rounds);
            moved |= play(1, rounds);
            fabric.step();
            idle = moved ? 0 : idle + 1;
            if (idle > 200_000) {
                throw new AssertionError("stands still: " + sides[0].link.traffic() + " " + sides[1].link.traffic());
            }
        }
        breaks.forEach(fabric::breakRail);
        settle(toBreak);
    }

    /** Lets failovers that began end, and looks that nothing moves afterwards. */
    private void settle(int toBreak) {
        for (int i = 0; i < 200_000 && failovers() < 2 * toBreak; i++) {
            // A rail that carries nothing is not seen to be broken.
            if (i % 50 == 0) {
                write(0, 4 * 1024);
                write(1, 4 * 1024);
            }
            fabric.step();
        }
        sides[0].link.flush(Deadline.in(Guard.minute()), Link.NO_CHECK);
        sides[1].link.flush(Deadline.in(Guard.minute()), Link.NO_CHECK);
    }

    private boolean done(int side, long rounds) {
        Side own = sides[side];
        return own.checkedRounds >= rounds && seen(side, CHECKED) >= rounds;
    }

    private boolean play(int side, int rounds) {
        Side own = sides[side];
        boolean moved = false;
        if (own.sentRounds < rounds && own.sentRounds - seen(side, CHECKED) < SLOTS) {
            send(side, ++own.sentRounds);
            moved = true;
        }
        long arrived = seen(side, SENT);
        fabric.step();
        if (seen(side, BEFORE) < arrived) {
            throw new AssertionError("side " + side + " sees " + seen(side, BEFORE)
                    + " of the counter that was advanced" + " before the one that it sees at " + arrived);
        }
        if (arrived > own.checkedRounds) {
            check(side, ++own.checkedRounds);
            advance(side, CHECKED, own.checkedRounds);
            moved = true;
        }
        return moved;
    }

    private static SplittableRandom random(int from, long round) {
        return new SplittableRandom(from * 1_000_003L + round);
    }

    private static int total(SplittableRandom random) {
        return random.nextInt(3) == 0 ? 8 * random.nextInt(SLOT / 8) : 8 * random.nextInt(17);
    }

    private void send(int side, long round) {
        Side own = sides[side];
        SplittableRandom content = random(side, round);
        int total = total(content);
        long value = content.nextLong();
        long target = round % SLOTS * SLOT;
        long source = SLOTS * SLOT + target;
        // Its last write from here was answered, so it was executed; the queue pair may not know that yet.
        for (int i = 0; i < total; i += 8) {
            own.data.putLong(source + i, value + i);
        }
        int done = 0;
        while (done < total) {
            int bytes = Math.min(total - done, 1 + random.nextInt(1500));
            own.link.put(
                    own.memory, target + done, source + done, bytes, random.nextDouble() < messages, Link.NO_CHECK);
            done += bytes;
        }
        advance(side, BEFORE, round);
        advance(side, SENT, round);
    }

    private void check(int side, long round) {
        SplittableRandom content = random(1 - side, round);
        int total = total(content);
        long value = content.nextLong();
        for (int i = 0; i < total; i += 8) {
            long found = sides[side].data.getLong(round % SLOTS * SLOT + i);
            if (found != value + i) {
                throw new AssertionError("side " + side + ", round " + round + ", byte " + i + " of " + total
                        + ": found " + found + ", expected " + (value + i) + "; "
                        + sides[1 - side].link.traffic());
            }
        }
    }

    @Override
    public void close() {
        allocations.forEach(DeviceAllocation::close);
    }
}
