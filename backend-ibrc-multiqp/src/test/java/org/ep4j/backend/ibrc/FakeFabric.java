package org.ep4j.backend.ibrc;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.transport.memory.HostMemory;

/**
 * Queue pairs between two sides, without a NIC: each executes in order, lanes against each other in any order, and a rail can
 * break at any moment, with requests executed whose acknowledgement never comes. Everything happens inside of {@code poll}.
 * For one thread.
 */
final class FakeFabric {
    /** A posted request. */
    private record Posted(
            long id,
            int opcode,
            long remote,
            long local,
            int length,
            long add,
            int immediate,
            boolean signaled,
            List<Byte> inline) {}

    private record Done(long id, int status, boolean received, int immediate) {}

    /** One end of a queue pair. */
    private static final class End {
        final Deque<Posted> waiting = new ArrayDeque<>();
        final Deque<Posted> executed = new ArrayDeque<>();
        /** What had left the queue pair when it failed: it may still arrive, as long as the other end takes it. */
        final Deque<Posted> late = new ArrayDeque<>();

        int receives;
        boolean stopped;
        boolean failed;
        long posted;
        long retired;
    }

    private final Random random;
    private final int depth;
    private final End[][] ends;
    private final List<Deque<Done>> completions = List.of(new ArrayDeque<>(), new ArrayDeque<>());
    private final boolean[] broken;
    private final Link[] links = new Link[2];
    private boolean stepping;
    private BooleanSupplier stalled = () -> false;
    private long adds;
    private long mostBytes;
    private long mostWrites;

    FakeFabric(Random random, int lanes, int rails, int depth, int receives) {
        this.random = random;
        this.depth = depth;
        this.ends = new End[2][lanes];
        this.broken = new boolean[rails];
        for (End[] side : ends) {
            for (int lane = 0; lane < lanes; lane++) {
                side[lane] = new End();
                side[lane].receives = receives;
            }
        }
    }

    void join(int side, Link link) {
        links[side] = link;
    }

    /** Nothing passes any more between two ports. */
    void breakRail(int rail) {
        broken[rail] = true;
    }

    /** Nothing arrives, on any rail, and nothing fails, as long as {@code stalled} holds. */
    void stallWhile(BooleanSupplier stalled) {
        this.stalled = stalled;
    }

    /** Requests that advanced a counter. */
    long adds() {
        return adds;
    }

    /** Most writes that one side had in flight on one rail. */
    long mostWrites() {
        return mostWrites;
    }

    /** Most bytes of writes that one side had in flight on one rail. */
    long mostBytes() {
        return mostBytes;
    }

    private void count(int side, int rail) {
        long bytes = 0;
        long writes = 0;
        for (int lane = rail; lane < ends[side].length; lane += broken.length) {
            bytes += bytes(ends[side][lane].waiting) + bytes(ends[side][lane].executed);
            writes += writes(ends[side][lane].waiting).count()
                    + writes(ends[side][lane].executed).count();
        }
        mostBytes = Math.max(mostBytes, bytes);
        mostWrites = Math.max(mostWrites, writes);
    }

    private static long bytes(Deque<Posted> posted) {
        return writes(posted).mapToLong(Posted::length).sum();
    }

    private static Stream<Posted> writes(Deque<Posted> posted) {
        return posted.stream()
                .filter(one -> one.opcode() == SendQueue.WRITE || one.opcode() == SendQueue.IMMEDIATE)
                .filter(one -> one.length() > 0);
    }

    private boolean passes(int lane) {
        return !broken[lane % broken.length] && !ends[0][lane].stopped && !ends[1][lane].stopped;
    }

    Wire wire(int side) {
        return new SideWire(side);
    }

    /** Lets something happen. */
    void step() {
        if (stepping || stalled.getAsBoolean()) {
            return;
        }
        stepping = true;
        try {
            for (int i = random.nextInt(6); i >= 0; i--) {
                happen(random.nextInt(2), random.nextInt(ends[0].length));
            }
            links[random.nextInt(2)].tryProgress();
        } finally {
            stepping = false;
        }
    }

    private void happen(int side, int lane) {
        End end = ends[side][lane];
        Posted next = end.waiting.peek();
        if (next != null && passes(lane) && execute(side, lane, next)) {
            end.waiting.remove();
            end.executed.add(next);
        }
        Posted late = end.late.peek();
        if (late != null && !ends[1 - side][lane].stopped && random.nextInt(30) == 0) {
            // What is read comes back to nobody.
            if (late.opcode() == SendQueue.READ || execute(side, lane, late)) {
                end.late.remove();
            }
        }
        if (random.nextInt(3) == 0 && passes(lane)) {
            acknowledge(side, end);
        }
        if (broken[lane % broken.length] && !end.failed && !end.stopped && random.nextInt(20) == 0) {
            fail(side, lane, Completions.RETRIES_EXCEEDED);
        }
    }

    private void acknowledge(int side, End end) {
        for (int i = random.nextInt(4); i >= 0 && !end.executed.isEmpty(); i--) {
            Posted done = end.executed.remove();
            if (done.signaled()) {
                completions.get(side).add(new Done(done.id(), 0, false, 0));
            }
        }
    }

    /** All that was not acknowledged ends in error, whether it was executed or not. */
    private void fail(int side, int lane, int first) {
        End end = ends[side][lane];
        int status = first;
        List<Posted> all = new ArrayList<>(end.executed);
        all.addAll(end.waiting);
        if (all.isEmpty() && first != Completions.FLUSHED) {
            return;
        }
        end.failed = true;
        int left = random.nextInt(end.waiting.size() + 1);
        end.waiting.stream().limit(left).forEach(end.late::add);
        for (Posted one : all) {
            completions.get(side).add(new Done(one.id(), status, false, 0));
            status = Completions.FLUSHED;
        }
        end.executed.clear();
        end.waiting.clear();
    }

    private boolean execute(int side, int lane, Posted request) {
        switch (request.opcode()) {
            case SendQueue.WRITE -> write(request);
            case SendQueue.READ -> copy(request.remote(), request.local(), request.length());
            case SendQueue.ADD -> {
                HostMemory word = memory(request.remote(), 8);
                word.putLongRelease(0, word.getLong(0) + request.add());
                adds++;
            }
            case SendQueue.IMMEDIATE -> {
                End peer = ends[1 - side][lane];
                if (peer.receives == 0) {
                    return false;
                }
                peer.receives--;
                write(request);
                completions.get(1 - side).add(new Done(Completions.receiveId(lane), 0, true, request.immediate()));
                adds++;
            }
            default -> throw new AssertionError("opcode " + request.opcode());
        }
        return true;
    }

    private static void write(Posted request) {
        if (!request.inline().isEmpty()) {
            HostMemory target = memory(request.remote(), request.length());
            for (int i = 0; i < request.length(); i++) {
                target.putByte(i, request.inline().get(i));
            }
        } else if (request.length() > 0) {
            copy(request.local(), request.remote(), request.length());
        }
    }

    static HostMemory memory(long address, long bytes) {
        return HostMemory.of(DeviceMemory.of(address, bytes, Device.HOST));
    }

    private static void copy(long from, long to, int bytes) {
        memory(to, bytes).copy(0, memory(from, bytes), 0, bytes);
    }

    private final class SideWire implements Wire {
        private final int side;

        private SideWire(int side) {
            this.side = side;
        }

        @Override
        public int post(SendQueue.Batch batch, int from, int to) {
            for (int i = from; i < to; i++) {
                End end = ends[side][batch.lane(i)];
                if (end.failed || end.stopped) {
                    if (random.nextBoolean()) {
                        batch.error().set(0, Errno.EINVAL);
                        return i;
                    }
                    completions.get(side).add(new Done(batch.id(i), Completions.FLUSHED, false, 0));
                    continue;
                }
                end.posted++;
                if (end.posted - end.retired > depth) {
                    throw new AssertionError("queue pair " + batch.lane(i) + " overrun: " + end.posted + " posted, "
                            + end.retired + " known to be complete, depth " + depth);
                }
                boolean inline = (batch.flags(i) & SendQueue.INLINE) != 0;
                List<Byte> bytes = new ArrayList<>();
                for (int b = 0; inline && b < batch.length(i); b++) {
                    bytes.add(memory(batch.local(i), batch.length(i)).getByte(b));
                }
                end.waiting.add(new Posted(
                        batch.id(i),
                        batch.opcode(i),
                        batch.remote(i),
                        batch.local(i),
                        batch.length(i),
                        batch.added(i),
                        batch.immediate(i),
                        (batch.flags(i) & SendQueue.SIGNALED) != 0,
                        bytes));
                count(side, batch.lane(i) % broken.length);
            }
            return to;
        }

        @Override
        public int poll(Completions into, int polls) {
            step();
            Deque<Done> ready = completions.get(side);
            int count = 0;
            while (count < into.capacity() && !ready.isEmpty() && random.nextInt(8) > 0) {
                Done done = ready.remove();
                if (!done.received() && done.status() == 0) {
                    End end = ends[side][Completions.lane(done.id())];
                    end.retired = Completions.number(done.id(), end.retired) + 1;
                }
                into.set(count++, done.id(), done.status(), 0x81, done.immediate());
            }
            return count;
        }

        @Override
        public void stop(int lane) {
            End end = ends[side][lane];
            if (!end.stopped) {
                end.stopped = true;
                fail(side, lane, Completions.FLUSHED);
                for (; end.receives > 0; end.receives--) {
                    completions.get(side).add(new Done(Completions.receiveId(lane), Completions.FLUSHED, false, 0));
                }
            }
        }

        @Override
        public int postReceives(int lane, int count) {
            End end = ends[side][lane];
            // A queue pair may fail while it is given receives.
            if (broken[lane % broken.length] && !end.failed) {
                fail(side, lane, Completions.RETRIES_EXCEEDED);
            }
            int taken = end.failed ? random.nextInt(count) : count;
            end.receives += taken;
            return taken > 0 ? taken : -Errno.EINVAL;
        }

        @Override
        public String status(int status) {
            return "fake";
        }

        @Override
        public String error(int error) {
            return "error " + error;
        }
    }
}
