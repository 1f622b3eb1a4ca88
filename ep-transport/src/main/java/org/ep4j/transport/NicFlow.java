package org.ep4j.transport;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.plan.offer.FlowLimits;

/** Bytes and writes that this rank has in flight on one NIC, to all peers together, with their limits. Safe for use from several threads. */
public final class NicFlow {
    private final FlowLimits limits;
    private final boolean free;
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicInteger writes = new AtomicInteger();
    private final AtomicInteger messages = new AtomicInteger();
    private final List<Runnable> links = new CopyOnWriteArrayList<>();

    /** Creates a count with nothing in flight. */
    public NicFlow(FlowLimits limits) {
        this.limits = limits;
        this.free = limits.none();
    }

    /**
     * Takes room for a write if there is some. A write that is larger than the limit goes alone; {@link #longest} avoids it.
     *
     * @param length of the write; one of 0 bytes, such as a counter, needs no room
     * @param message whether it is of low latency, see {@link org.ep4j.spi.HostPosted#putMessage}
     */
    public boolean take(int length, boolean message) {
        if (free || length == 0) {
            return true;
        }
        AtomicInteger count = count(message);
        int most = most(message);
        if (most > 0 && !takeOne(count, most)) {
            return false;
        }
        if (limits.bytes() > 0 && !takeBytes(length)) {
            if (most > 0) {
                count.decrementAndGet();
            }
            return false;
        }
        return true;
    }

    private static boolean takeOne(AtomicInteger count, int most) {
        while (true) {
            int now = count.get();
            if (now >= most) {
                return false;
            }
            if (count.compareAndSet(now, now + 1)) {
                return true;
            }
        }
    }

    private boolean takeBytes(int wanted) {
        while (true) {
            long now = bytes.get();
            if (now > 0 && now + wanted > limits.bytes()) {
                return false;
            }
            if (bytes.compareAndSet(now, now + wanted)) {
                return true;
            }
        }
    }

    /**
     * Returns the largest piece of a write: a piece fits when half of the room is free, so that small writes of others do not keep it out for
     * ever.
     */
    public long longest() {
        return limits.bytes() == 0 ? Long.MAX_VALUE : Math.max(1, limits.bytes() / 2);
    }

    /**
     * Adds a link whose writes have room here.
     *
     * @param progress polls its completions, unless another thread does
     */
    public void add(Runnable progress) {
        links.add(progress);
    }

    /** Polls the completions of all links, whose writes may be complete and hold room all the same: for a link that found none. */
    public void progress() {
        links.forEach(Runnable::run);
    }

    /** Takes room for a write that must go, beyond the limits too: one that is repeated on another port. */
    public void takeAnyway(int length, boolean message) {
        add(length, message, 1);
    }

    /** Gives back the room of a write that is complete, or that nothing carries any more. */
    public void give(int length, boolean message) {
        add(length, message, -1);
    }

    /** Bytes in flight; 0 where they are not limited. */
    public long bytes() {
        return bytes.get();
    }

    /** Writes in flight of one mode; 0 where they are not limited. */
    public int writes(boolean message) {
        return count(message).get();
    }

    private void add(int length, boolean message, int sign) {
        if (free || length == 0) {
            return;
        }
        if (most(message) > 0) {
            count(message).addAndGet(sign);
        }
        if (limits.bytes() > 0) {
            bytes.addAndGet((long) sign * length);
        }
    }

    private AtomicInteger count(boolean message) {
        return message ? messages : writes;
    }

    private int most(boolean message) {
        return message ? limits.messages() : limits.writes();
    }
}
