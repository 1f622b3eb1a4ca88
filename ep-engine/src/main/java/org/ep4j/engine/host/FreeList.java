package org.ep4j.engine.host;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;

/**
 * Objects that are used again instead of being allocated for every operation. Safe for use from several threads.
 *
 * @param <T> type of the objects
 */
final class FreeList<T> {
    /** Largest number of free objects: a model may close the handles of some tens of layers together. */
    private static final int MOST = 64;

    private final Supplier<T> factory;
    private final Deque<T> free = new ArrayDeque<>();
    private boolean closed;

    FreeList(Supplier<T> factory) {
        this.factory = factory;
    }

    /** The object that was added last, whose memory is most likely in a cache, or a new one. */
    T take() {
        T known;
        synchronized (this) {
            known = free.pollFirst();
        }
        return known == null ? factory.get() : known;
    }

    /** Adds an object that nobody uses any more. */
    synchronized void add(T object) {
        if (!closed && free.size() < MOST) {
            free.addFirst(object);
        }
    }

    /** Forgets all objects, also those that are added later. */
    synchronized void close() {
        closed = true;
        free.clear();
    }
}
