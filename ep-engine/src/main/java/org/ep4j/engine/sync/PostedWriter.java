package org.ep4j.engine.sync;

import java.util.function.LongPredicate;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.Deadline;

/**
 * Writes one peer by posting, through a staging buffer in this rank's memory that only this peer uses. It is filled from its start
 * to its end, then, when all that was posted has been sent, from its start again. Writes that are adjacent in both memories are
 * posted as one. For the thread that runs operations.
 */
final class PostedWriter {
    /** Large enough for a NIC's full rate, small enough that sending begins while the rest is still being staged. */
    private static final long PIECE = 256 << 10;

    /** Staged writes begin on cache lines. */
    private static final long LINE = 64;

    private final HostPosted posted;
    private final int peer;
    private final LongPredicate lowLatency;
    private final long start;
    private final long end;

    private long free;
    /** Offset at the peer to which staged bytes that are not posted go; below, their offset here and their number. */
    private long target;

    private long source;
    private long bytes;

    /** Stages in the {@code size} bytes at {@code start}; {@code lowLatency} says so of an offset in the peer's memory. */
    PostedWriter(HostPosted posted, int peer, LongPredicate lowLatency, long start, long size) {
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

    /** Returns where to stage what goes to {@code to}; one of the next calls posts it, so the caller writes it before. */
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

    /** Posts from where the bytes are, without staging. */
    void write(long to, long from, long size) {
        flush();
        for (long done = 0; done < size; done += PIECE) {
            post(to + done, from + done, Math.min(PIECE, size - done));
        }
    }

    void advance(Counter counter, long value) {
        flush();
        posted.signal(peer, BufferLayout.number(counter), value);
    }

    /** Drops what was placed and not posted. */
    void drop() {
        bytes = 0;
    }

    /** As {@link #drop} and {@link #drain}. */
    void settle(Deadline deadline) {
        drop();
        drain(deadline);
    }

    /** Waits until all that was posted has arrived. */
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
