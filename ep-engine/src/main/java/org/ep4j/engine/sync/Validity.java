package org.ep4j.engine.sync;

import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.EpStateException;

/** Checks whether a result may still be read: as long as fewer than {@code alive} newer operations of its kind have begun. */
public final class Validity {
    private final AtomicLong newest = new AtomicLong();
    private final String kind;
    private final int alive;
    private volatile long atMove = -1;
    private volatile long gone = -1;
    private volatile boolean closed;

    public Validity(String kind, int alive) {
        this.kind = kind;
        this.alive = alive;
    }

    public void begin(long number) {
        newest.set(number);
    }

    /** Records that the buffer has moved into fresh memory, after operation {@code last}. */
    public void moved(long last) {
        atMove = last;
    }

    /** Records that the memory is released which has the results of operations before the last {@link #moved}. */
    public void freed() {
        gone = atMove;
    }

    public void close() {
        closed = true;
    }

    public void check(long number) {
        if (closed) {
            throw new EpStateException(
                    "the buffer of this " + kind + " result is closed; copy results before closing it");
        }
        if (number <= gone) {
            throw new EpStateException("this result of " + kind + " number " + number
                    + " is no longer valid: the buffer has recovered twice since; copy results earlier");
        }
        if (newest.get() - number >= alive) {
            throw new EpStateException("this result of " + kind + " number " + number + " is stale: " + kind
                    + " number "
                    + newest.get() + " reuses its memory (" + alive + (alive == 1 ? " result is" : " results are")
                    + " alive at once); copy the result earlier, or use another buffer");
        }
    }
}
