package org.ep4j.backend.efa;

import java.util.concurrent.atomic.AtomicLong;

/** The bytes that this rank has under way on one NIC, to all peers. Safe for use from several threads. */
final class NicFlow {
    private final long most;
    private final AtomicLong bytes = new AtomicLong();

    /** With a limit; 0 for none. */
    NicFlow(long most) {
        this.most = most;
    }

    /** Takes room, where there is some. A write that is larger than the limit goes alone. */
    boolean take(long wanted) {
        if (most == 0) {
            return true;
        }
        while (true) {
            long now = bytes.get();
            if (now > 0 && now + wanted > most) {
                return false;
            }
            if (bytes.compareAndSet(now, now + wanted)) {
                return true;
            }
        }
    }

    void give(long taken) {
        if (most > 0) {
            bytes.addAndGet(-taken);
        }
    }
}
