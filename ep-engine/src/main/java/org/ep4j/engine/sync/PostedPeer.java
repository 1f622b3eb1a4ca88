package org.ep4j.engine.sync;

import java.util.function.LongPredicate;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.Deadline;

/**
 * One peer that is written by posting. What is sent is first put into this rank's memory, in a part of it that is the peer's
 * alone: from its start to its end, then, when all that was posted has been sent, from its start again. Neighbours on both
 * sides are posted as one write. For the thread that runs operations.
 */
final class PostedPeer {
    /** Large enough for a NIC's full rate, small enough that sending begins while the rest is still being put together. */
    private static final long PIECE = 256 << 10;

    /** Staged writes begin on cache lines. */
    private static final long LINE = 64;

    private final HostPosted posted;
    private final int peer;
    private final LongPredicate lowLatency;
    private final long start;
    private final long end;

    /** First free byte. */
    private long free;

    private long target;
    private long source;
    private long bytes;

    /**
     * Posts to {@code peer} from the {@code size} bytes at {@code start} of this rank's memory.
     *
     * @param lowLatency whether an offset in the peer's memory is of low latency
     */
    PostedPeer(HostPosted posted, int peer, LongPredicate lowLatency, long start, long size) {
        this.posted = posted;
        this.peer = peer;
        this.lowLatency = lowLatency;
        this.start = start;
        this.end = start + size;
        this.free = start;
    }

    void setWaitCheck(Runnable check) {
        posted.setWaitCheck(check);
    }

    /**
     * Where in this rank's memory to put what is to go to {@code to}. It is posted by one of the next calls, so it is
     * written before these.
     */
    long place(long to, long size, Deadline deadline) {
        if (bytes > 0 && to == target + bytes && free + size <= end && bytes + size <= PIECE) {
            bytes += size;
        } else {
            flush();
            free = (free + LINE - 1) & -LINE;
            if (free + size > end) {
                drain(deadline);
                free = start;
            }
            target = to;
            source = free;
            bytes = size;
        }
        free += size;
        return free - size;
    }

    /** Posts what lies in this rank's memory already. */
    void write(long to, long from, long size) {
        flush();
        for (long done = 0; done < size; done += PIECE) {
            post(to + done, from + done, Math.min(PIECE, size - done));
        }
    }

    /** Ends a counted write. */
    void advance(Counter counter, long value) {
        flush();
        posted.signal(peer, BufferLayout.number(counter), value);
    }

    /** Forgets what was placed and not posted. */
    void drop() {
        bytes = 0;
    }

    /** Forgets what was placed and not posted, and waits until all that was posted has arrived. */
    void settle(Deadline deadline) {
        drop();
        drain(deadline);
    }

    /** Waits until all that was posted is sent. */
    void drain(Deadline deadline) {
        posted.flush(peer, deadline.nanoTime());
    }

    private void flush() {
        long size = bytes;
        bytes = 0;
        if (size > 0) {
            post(target, source, size);
        }
    }

    private void post(long to, long from, long size) {
        if (lowLatency.test(to)) {
            posted.putMessage(peer, to, from, size);
        } else {
            posted.put(peer, to, from, size);
        }
    }
}
