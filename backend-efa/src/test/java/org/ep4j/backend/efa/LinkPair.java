package org.ep4j.backend.efa;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpFailure;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.Guard;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.WordMemory;
import org.ep4j.transport.posted.PostedBuffer;
import org.ep4j.transport.posted.PostedMemory;
import org.ep4j.transport.posted.PostedPeer;

/** Two links that are the ends of a fake network, with a buffer on either side. For one thread. */
final class LinkPair {
    static final int BYTES = 1 << 20;

    private final FakeFabric fabric;
    private final Random random;
    private final Link[] links = new Link[2];
    private final WordMemory[] data = new WordMemory[2];
    private final EfaMemory[] memories = new EfaMemory[2];
    private boolean messages;

    /**
     * How the pair is.
     *
     * @param rails pairs of NICs
     * @param depth writes that an endpoint holds
     * @param virtual whether peers give addresses
     * @param chunk bytes that are registered at once
     * @param profile limits of the NICs
     * @param timeout of calls
     */
    record Shape(int rails, int depth, boolean virtual, long chunk, NicProfile profile, Duration timeout) {
        static Shape of(int rails) {
            return new Shape(rails, 64, true, Keys.WHOLE, NicProfile.ANY, Guard.minute());
        }
    }

    LinkPair(long seed, Shape shape) {
        this.random = new Random(seed);
        this.fabric = new FakeFabric(random, shape.rails(), shape.depth());
        HostMemory[] records = new HostMemory[2];
        Buffers[] buffers = {new Buffers(), new Buffers()};
        Region[] control = new Region[2];
        for (int side = 0; side < 2; side++) {
            WordMemory memory = fabric.allocate(Records.BYTES);
            records[side] = memory.words();
            control[side] = fabric.register(memory, shape.rails(), shape.virtual(), Keys.WHOLE);
            data[side] = fabric.allocate(BYTES);
            Region region = fabric.register(data[side], shape.rails(), shape.virtual(), shape.chunk());
            DeviceMemory local = DeviceMemory.of(data[side].address(), BYTES, Device.HOST);
            memories[side] = buffers[side].add(number -> new EfaMemory(
                    local, 2, new PostedMemory.Registrations(), region, new EfaMemory.Key(number, region)));
        }
        for (int side = 0; side < 2; side++) {
            List<Rail> rails = new ArrayList<>();
            for (int r = 0; r < shape.rails(); r++) {
                NicFlow nic = new NicFlow(shape.profile().limits());
                rails.add(new Rail(
                        r, "fake" + r, "fake" + r + " to fake" + r, r, r, Long.MAX_VALUE, nic, shape.profile()));
            }
            memories[side].keys(List.of(memories[0].key(), memories[1].key()));
            links[side] = new Link(
                    new PostedPeer(
                            1 - side,
                            1 - side,
                            "rank " + (1 - side),
                            EpFailure.builder("host-posted writes", 1 - side).build()),
                    fabric.wire(side),
                    rails,
                    new Records(records[side], control[side], control[1 - side]),
                    buffers[side].from(1 - side),
                    shape.timeout());
        }
        for (int side = 0; side < 2; side++) {
            Link link = links[side];
            fabric.pump(side, link::tryProgress);
        }
    }

    FakeFabric fabric() {
        return fabric;
    }

    Link link(int side) {
        return links[side];
    }

    HostMemory memory(int side) {
        return data[side].words();
    }

    /** Sets the mode of later writes. */
    void sendMessages(boolean lowLatency) {
        messages = lowLatency;
    }

    void write(int side, long target, long source, long bytes) {
        links[side].put(memories[side], target, source, bytes, messages, Link.NO_CHECK);
    }

    void advance(int side, int counter, long value) {
        advance(side, counter, value, Link.NO_CHECK);
    }

    void advance(int side, int counter, long value, Runnable check) {
        links[side].signal(memories[side], counter, value, check);
    }

    long seen(int side, int counter) {
        return memories[side].arrived(1 - side, counter);
    }

    /** A buffer in the memory of a side. */
    PostedBuffer<EfaMemory> buffer(int side) {
        return new PostedBuffer<>(
                EfaProvider.ID,
                "b",
                side,
                memories[side],
                Map.of(1 - side, links[side]),
                new PostedBuffer.LastRead(),
                closed -> {});
    }

    /** A side notifies the other one that it has closed the buffer. */
    void close(int side) {
        Link link = links[side];
        link.hold(() -> {
            if (link.isLost() || !link.hasRoom()) {
                throw new AssertionError("a notice would have to wait: " + link.backlog());
            }
            link.postClosed(memories[side]);
        });
    }

    boolean closedByPeer(int side) {
        return memories[side].isClosedBy(1 - side);
    }

    /**
     * Rank 0 writes to rank 1, every byte of the target once, and advances counters; the value of a counter is the number of
     * the advance. Checks that no counter shows before all the bytes that were written before it are there, nor before the
     * counters that were advanced before it, and in the end that all is there.
     *
     * @param batches how many advances
     */
    void exchange(int batches) {
        SplittableRandom pick = new SplittableRandom(random.nextLong());
        int half = BYTES / 2;
        HostMemory mine = memory(0);
        for (int i = 0; i < BYTES; i += Long.BYTES) {
            mine.putLong(i, pick.nextLong());
        }
        long[] ends = new long[batches + 1];
        int[] counterOf = new int[batches + 1];
        long shown = 0;
        int at = 0;
        for (int batch = 1; batch <= batches; batch++) {
            int writes = pick.nextInt(5);
            for (int w = 0; w < writes && at < half; w++) {
                int most = pick.nextInt(8) == 0 ? 100_000 : 600;
                int bytes = Math.min(1 + pick.nextInt(most), half - at);
                // The source of what goes to "at" lies half the memory above.
                write(0, at, half + at, bytes);
                at += bytes;
            }
            ends[batch] = at;
            counterOf[batch] = pick.nextInt(HostPosted.COUNTERS);
            advance(0, counterOf[batch], batch);
            shown = check(ends, counterOf, batch, shown);
            if (pick.nextInt(10) == 0) {
                links[0].flush(Deadline.in(Guard.minute()), Link.NO_CHECK);
            }
        }
        links[0].flush(Deadline.in(Guard.minute()), Link.NO_CHECK);
        for (int i = 0; i < 100_000 && shown < batches; i++) {
            links[1].tryProgress();
            shown = check(ends, counterOf, batches, shown);
        }
        if (shown < batches) {
            throw new AssertionError("shown " + shown + " of " + batches);
        }
    }

    private long check(long[] ends, int[] counterOf, int batches, long before) {
        long last = before;
        for (int counter = 0; counter < HostPosted.COUNTERS; counter++) {
            last = Math.max(last, seen(1, counter));
        }
        if (last > batches) {
            throw new AssertionError("shown " + last + ", sent " + batches);
        }
        for (int batch = 1; batch <= last; batch++) {
            if (seen(1, counterOf[batch]) < batch) {
                throw new AssertionError("advance " + last + " is shown, and not " + batch);
            }
        }
        int half = BYTES / 2;
        for (long i = ends[(int) before]; i < ends[(int) last]; i++) {
            if (memory(1).getByte(i) != memory(0).getByte(half + i)) {
                throw new AssertionError("byte " + i + " is not there, and advance " + last + " is shown");
            }
        }
        return last;
    }
}
