package org.ep4j.backend.ibrc;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.plan.offer.FlowLimits;
import org.jspecify.annotations.Nullable;

/**
 * What this rank has under way on one port, to all peers, and how much that may be. Bytes are counted by the request; a write of a
 * caller, of which there may be many requests, is under way on the port from its first request to the completion of its last.
 * Counters are not limited. Safe for use from several threads.
 */
final class PortFlow {
    private final FlowLimits limits;
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicInteger large = new AtomicInteger();
    private final AtomicInteger small = new AtomicInteger();
    private final List<Link> links = new CopyOnWriteArrayList<>();

    PortFlow(FlowLimits limits) {
        this.limits = limits;
    }

    /** Part of a write of a caller that goes over the port. Guarded by the lock of its link. */
    final class Write {
        private final AtomicInteger among;
        private int requests;
        private boolean ended;

        private Write(AtomicInteger among) {
            this.among = among;
        }

        /** Takes room for the bytes of one more request, where there is some. A request larger than the limit goes alone. */
        boolean take(long wanted) {
            if (limits.bytes() > 0) {
                long now;
                do {
                    now = bytes.get();
                    if (now > 0 && now + wanted > limits.bytes()) {
                        return false;
                    }
                } while (!bytes.compareAndSet(now, now + wanted));
            }
            requests++;
            return true;
        }

        /** A request is not under way any more. */
        void give(long taken) {
            if (limits.bytes() > 0) {
                bytes.addAndGet(-taken);
            }
            requests--;
            leave();
        }

        /** No further request follows. */
        void end() {
            ended = true;
            leave();
        }

        private void leave() {
            if (ended && requests == 0) {
                among.decrementAndGet();
            }
        }
    }

    boolean limited() {
        return limits.bytes() > 0 || limits.largeWrites() > 0 || limits.smallWrites() > 0;
    }

    /** Begins a write; null where as many are under way as may be. */
    @Nullable
    Write begin(long length) {
        boolean isLarge = length >= FlowLimits.LARGE;
        AtomicInteger among = isLarge ? large : small;
        int most = isLarge ? limits.largeWrites() : limits.smallWrites();
        if (among.incrementAndGet() > most && most > 0) {
            among.decrementAndGet();
            return null;
        }
        return new Write(among);
    }

    /** Bytes under way, where they are limited. */
    long bytes() {
        return bytes.get();
    }

    /** Writes under way. */
    int writes() {
        return large.get() + small.get();
    }

    /** A link that has lanes on the port. */
    void join(Link link) {
        links.add(link);
    }

    /** Takes in completions of other links: what they have under way may be all that there is room for. */
    void help(Link waiting) {
        if (limited()) {
            for (Link link : links) {
                if (link != waiting) {
                    link.tryProgress();
                }
            }
        }
    }
}
