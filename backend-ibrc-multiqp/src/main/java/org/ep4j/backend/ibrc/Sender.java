package org.ep4j.backend.ibrc;

import java.util.Arrays;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Collects requests and posts them in few calls. The last one for each lane reports completion. For one thread at a time. */
final class Sender {
    /** Requests of one call: a counted write over 32 lanes with its counters fits. */
    private static final int BATCH = 64;

    /** What is larger starts at once. */
    private static final long LARGE = 64 << 10;

    private final int peer;
    private final Lane[] lanes;
    private final Wire wire;
    private final BiConsumer<Lane, String> failed;
    private final Commands commands = new Commands(BATCH);
    private final int[] last;
    private final long[] lastBatch;
    private final long[] seen;
    private long flushes;
    private long bytes;

    /**
     * To one peer.
     *
     * @param peer its index
     * @param failed told of a lane that takes no requests, and why
     */
    Sender(int peer, Lane[] lanes, Wire wire, BiConsumer<Lane, String> failed) {
        this.peer = peer;
        this.lanes = lanes.clone();
        this.wire = wire;
        this.failed = failed;
        this.last = new int[lanes.length];
        this.lastBatch = new long[lanes.length];
        Arrays.fill(lastBatch, -1);
        this.seen = new long[lanes.length];
    }

    /**
     * Appends a request to a lane that has room. What was appended before may be posted, but not this one: an advance that
     * follows a write may still travel with it.
     *
     * @return its number on the lane
     */
    long append(Lane lane, Request request) {
        return append(lane, request, null);
    }

    /** As above, of a write that has taken room for it on the port. */
    long append(Lane lane, Request request, PortFlow.@Nullable Write write) {
        if (commands.full() || bytes >= LARGE) {
            flush();
        }
        LaneEnds ends = lane.ends();
        long number = lane.log().append(request, write);
        lane.traffic().count(request);
        int flags = lane.signalsNext() ? Commands.SIGNALED : 0;
        Region source = request.source;
        Region target = request.target;
        if (source == null || target == null) {
            throw new IllegalStateException("a request without memory");
        }
        // The processor copies what travels inline.
        if (request.writes() && request.length <= ends.inline() && source.onHost()) {
            flags |= Commands.INLINE;
        }
        boolean bare = request.length == 0;
        last[lane.index()] = commands.count();
        lastBatch[lane.index()] = flushes;
        commands.add(
                lane.index(),
                ends.qp(),
                CompletionId.send(lane.index(), number),
                request.opcode,
                bare ? 0 : request.remote,
                bare ? 0 : target.remoteKey(peer, ends.remotePort()),
                request.local,
                source.key(ends.port()),
                request.length,
                request.add,
                request.immediate,
                flags);
        bytes += request.length;
        return number;
    }

    /**
     * Lets the newest request of a lane make the peer add to a word, where it is a write that has not been posted.
     *
     * @return false where it is not
     */
    boolean count(Lane lane, Region to, long word, int code, long result) {
        int index = last[lane.index()];
        if (lastBatch[lane.index()] != flushes || !lane.alive() || commands.opcode(index) != Commands.WRITE) {
            return false;
        }
        commands.count(index, code);
        lane.log().count(to, word, code, result);
        lane.traffic().counted();
        return true;
    }

    /** Posts what was appended. */
    void flush() {
        int count = commands.count();
        if (count == 0) {
            return;
        }
        signalLast(count);
        int from = 0;
        while (from < count) {
            if (!lanes[commands.lane(from)].alive()) {
                from++;
                continue;
            }
            int to = from + 1;
            while (to < count && lanes[commands.lane(to)].alive()) {
                to++;
            }
            from = wire.post(commands, from, to);
            if (from < to) {
                Lane lane = lanes[commands.lane(from)];
                failed.accept(
                        lane,
                        "it took no request: " + wire.error(commands.error().get(0)));
            }
        }
        commands.clear();
        bytes = 0;
    }

    private void signalLast(int count) {
        flushes++;
        for (int i = count - 1; i >= 0; i--) {
            int lane = commands.lane(i);
            if (seen[lane] != flushes) {
                seen[lane] = flushes;
                commands.signal(i);
                lanes[lane].signaled();
            }
        }
    }
}
