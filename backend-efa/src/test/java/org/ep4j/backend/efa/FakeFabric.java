package org.ep4j.backend.efa;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.WordMemory;

/**
 * A network between two ranks that keeps no order, as SRD does: writes land in any order, immediates come in any order, own
 * completions are held back, queues are full. Everything happens inside of polls, as chance has it. For one thread.
 */
final class FakeFabric {
    static final int ENETUNREACH = 101;

    private final Random random;
    private final int depth;
    private final List<WordMemory> memories = new ArrayList<>();
    private final Map<Long, Registration> registrations = new HashMap<>();
    private final List<Write> pending = new ArrayList<>();
    private final List<List<List<int[]>>> queues;
    private final Runnable[] pumps = {() -> {}, () -> {}};
    private final boolean[] open = {true, true};
    private boolean pumping;
    private boolean stuck;
    private long landed;
    private long mostBytes;
    private long mostData;
    private int mostWaiting;

    private record Registration(long address, long bytes, boolean virtual) {}

    private static final class Write {
        private final int side;
        private final int rail;
        private final long remote;
        private final long key;
        private final long local;
        private final long length;
        private final int slot;
        private final int immediate;
        private boolean landed;

        Write(int side, int rail, long remote, long key, long local, long length, int slot, int immediate) {
            this.side = side;
            this.rail = rail;
            this.remote = remote;
            this.key = key;
            this.local = local;
            this.length = length;
            this.slot = slot;
            this.immediate = immediate;
        }
    }

    /**
     * A network.
     *
     * @param depth writes that an endpoint holds
     */
    FakeFabric(Random random, int rails, int depth) {
        this.random = random;
        this.depth = depth;
        this.queues = new ArrayList<>();
        for (int side = 0; side < 2; side++) {
            List<List<int[]>> ofSide = new ArrayList<>();
            for (int rail = 0; rail < rails; rail++) {
                ofSide.add(new ArrayList<>());
            }
            queues.add(ofSide);
        }
    }

    WordMemory allocate(long bytes) {
        WordMemory memory = WordMemory.allocate(bytes);
        memories.add(memory);
        return memory;
    }

    /** Registers memory at as many places as there are rails, in chunks. */
    Region register(WordMemory memory, int places, boolean virtual, long chunk) {
        long bytes = memory.words().size();
        List<Keys> keys = new ArrayList<>();
        for (int place = 0; place < places; place++) {
            int count = chunk == Keys.WHOLE ? 1 : (int) ((bytes + chunk - 1) / chunk);
            long[] values = new long[count];
            for (int i = 0; i < count; i++) {
                long start = chunk == Keys.WHOLE ? 0 : i * chunk;
                long key = 1000L + registrations.size();
                registrations.put(
                        key, new Registration(memory.address() + start, Math.min(chunk, bytes - start), virtual));
                values[i] = key;
            }
            keys.add(new Keys(virtual, chunk, values));
        }
        return new Region(memory.address(), keys);
    }

    /** What else runs whenever a side polls, as the peer's own thread would. */
    void pump(int side, Runnable run) {
        pumps[side] = run;
    }

    /** From now on nothing lands and nothing completes. */
    void stick() {
        stuck = true;
    }

    /** Something else than a write of its own fails for a side. */
    void breakFor(int side) {
        queues.get(side).get(0).add(new int[] {Completions.BROKEN, -1, 0, ENETUNREACH});
    }

    /** Gives a side an immediate that nobody sent. */
    void inject(int side, int immediate) {
        queues.get(side).get(0).add(new int[] {Completions.CAME, -1, immediate, 0});
    }

    /** Writes that have landed. */
    long landed() {
        return landed;
    }

    /** Most bytes of a side that were under way at once. */
    long mostBytes() {
        return mostBytes;
    }

    /** Most writes of data of a side that were under way at once. */
    long mostData() {
        return mostData;
    }

    /** Most immediates that waited in a queue at once. */
    int mostWaiting() {
        return mostWaiting;
    }

    Wire wire(int side) {
        return new Wire() {
            @Override
            public int write(
                    int rail,
                    long remote,
                    long key,
                    long local,
                    long descriptor,
                    long length,
                    int slot,
                    int immediate) {
                requireOpen(side);
                long under = pending.stream()
                        .filter(one -> one.side == side && one.rail == rail)
                        .count();
                if (under >= depth || random.nextInt(20) == 0) {
                    return -FabricError.EAGAIN;
                }
                check(descriptor, local, length, "the source");
                pending.add(new Write(side, rail, remote, key, local, length, slot, immediate));
                mostBytes = Math.max(
                        mostBytes,
                        pending.stream()
                                .filter(one -> one.side == side)
                                .mapToLong(one -> one.length)
                                .sum());
                mostData = Math.max(
                        mostData,
                        pending.stream()
                                .filter(one -> one.side == side && Immediate.kind(one.immediate) == Immediate.DATA)
                                .count());
                return 0;
            }

            @Override
            public int poll(int rail, Completions into) {
                requireOpen(side);
                step();
                pumpOther(side);
                List<int[]> queue = queues.get(side).get(rail);
                int count = Math.min(queue.size(), 1 + random.nextInt(into.capacity()));
                for (int i = 0; i < count; i++) {
                    int[] one = queue.remove(0);
                    into.set(i, one[0], one[1], one[2], one[3]);
                }
                return count;
            }

            @Override
            public String failure(int rail) {
                return "provider error 7 (fake cable is cut)";
            }

            @Override
            public String error(int error) {
                return "fake";
            }

            @Override
            public void close() {
                requireOpen(side);
                open[side] = false;
                pending.removeIf(one -> one.side == side);
            }
        };
    }

    private void requireOpen(int side) {
        if (!open[side]) {
            throw new AssertionError("side " + side + " is closed, and is called");
        }
    }

    private void pumpOther(int side) {
        if (!pumping) {
            pumping = true;
            try {
                pumps[1 - side].run();
            } finally {
                pumping = false;
            }
        }
    }

    /** Lets some writes land and some of those that have landed complete. */
    private void step() {
        if (stuck) {
            return;
        }
        for (Write write : List.copyOf(pending)) {
            int other = 1 - write.side;
            if (!write.landed && random.nextInt(3) == 0) {
                if (!open[other]) {
                    complete(write.side, write.rail, new int[] {Completions.FAILED, write.slot, 0, ENETUNREACH});
                    pending.remove(write);
                    continue;
                }
                land(write);
                write.landed = true;
                landed++;
                complete(other, write.rail, new int[] {Completions.CAME, -1, write.immediate, 0});
            } else if (write.landed && random.nextInt(3) == 0) {
                complete(write.side, write.rail, new int[] {Completions.SENT, write.slot, 0, 0});
                pending.remove(write);
            }
        }
    }

    private void complete(int side, int rail, int[] entry) {
        List<int[]> queue = queues.get(side).get(rail);
        queue.add(random.nextInt(queue.size() + 1), entry);
        int waiting =
                (int) queue.stream().filter(one -> one[0] == Completions.CAME).count();
        mostWaiting = Math.max(mostWaiting, waiting);
    }

    private void land(Write write) {
        Registration target = registrations.get(write.key);
        if (target == null) {
            throw new AssertionError("no key " + write.key);
        }
        long address = target.virtual() ? write.remote : target.address() + write.remote;
        check(write.key, address, write.length, "the target");
        WordMemory from = find(write.local);
        WordMemory to = find(address);
        HostMemory words = to.words();
        words.copy(address - to.address(), from.words(), write.local - from.address(), write.length);
    }

    private void check(long key, long address, long length, String what) {
        Registration of = registrations.get(key);
        if (of == null || address < of.address() || address + length > of.address() + of.bytes()) {
            throw new AssertionError(
                    what + " is not within its registration: " + Arrays.asList(key, address, length) + " and " + of);
        }
    }

    private WordMemory find(long address) {
        return memories.stream()
                .filter(one -> address >= one.address()
                        && address < one.address() + one.words().size())
                .findFirst()
                .orElseThrow(() -> new AssertionError("no memory at " + address));
    }
}
