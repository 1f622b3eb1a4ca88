package org.ep4j.engine.sync;

import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.EpStateException;

/** Until when a result may be read: as long as fewer than {@code alive} newer operations of its kind have begun. */
public final class Validity {
    private final AtomicLong newest = new AtomicLong();
    private final String kind;
    private final int alive;
    private volatile boolean closed;
    private volatile boolean left;

    public Validity(String kind, int alive) {
        this.kind = kind;
        this.alive = alive;
    }

    public void begin(long number) {
        newest.set(number);
    }

    public void close() {
        closed = true;
    }

    /** Makes all results void while the buffer is not in the memory that they belong to. */
    public void left(boolean now) {
        left = now;
    }

    public void check(long number) {
        if (left) {
            throw Waits.moved();
        }
        if (closed) {
            throw new EpStateException(
                    "the buffer of this " + kind + " result is closed; copy results before closing it");
        }
        if (newest.get() - number >= alive) {
            throw new EpStateException("this result of " + kind + " number " + number + " is stale: " + kind
                    + " number "
                    + newest.get() + " reuses its memory (" + alive + (alive == 1 ? " result is" : " results are")
                    + " alive at once); copy it before, or use another buffer");
        }
    }
}
