package org.ep4j.backend.efa;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.plan.offer.FlowLimits;

/** What this rank has under way on one NIC, to all peers, and how much that may be. Safe for use from several threads. */
final class NicFlow {
    private final FlowLimits limits;
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicInteger large = new AtomicInteger();
    private final AtomicInteger small = new AtomicInteger();
    private final List<Link> links = new CopyOnWriteArrayList<>();

    NicFlow(FlowLimits limits) {
        this.limits = limits;
    }

    /** Takes room for a write, where there is some. A write that is larger than the limit of bytes goes alone. */
    boolean take(long length) {
        AtomicInteger among = among(length);
        int most = length >= FlowLimits.LARGE ? limits.largeWrites() : limits.smallWrites();
        if (among.incrementAndGet() > most && most > 0) {
            among.decrementAndGet();
            return false;
        }
        if (!takeBytes(length)) {
            among.decrementAndGet();
            return false;
        }
        return true;
    }

    private boolean takeBytes(long wanted) {
        if (limits.bytes() == 0) {
            return true;
        }
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

    /** A write that took room is not under way any more. */
    void give(long length) {
        among(length).decrementAndGet();
        if (limits.bytes() > 0) {
            bytes.addAndGet(-length);
        }
    }

    private AtomicInteger among(long length) {
        return length >= FlowLimits.LARGE ? large : small;
    }

    /** A link that has a rail on the NIC. */
    void join(Link link) {
        links.add(link);
    }

    /** Takes in completions of other links: what they have under way may be all that there is room for. */
    void help(Link waiting) {
        for (Link link : links) {
            if (link != waiting) {
                link.tryProgress();
            }
        }
    }
}
