package org.ep4j.engine.host;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;

/** Objects that are reused instead of being allocated for every operation. Safe for use from several threads. */
final class FreeList<T> {
    /** Largest number of free objects: a model may close the handles of some tens of layers together. */
    private static final int MOST = 64;

    private final Supplier<T> factory;
    private final Deque<T> free = new ArrayDeque<>();
    private boolean closed;

    FreeList(Supplier<T> factory) {
        this.factory = factory;
    }

    /** Takes the object that was added last, whose memory is most likely in a cache, or creates one. */
    T take() {
        T known;
        synchronized (this) {
            known = free.pollFirst();
        }
        return known == null ? factory.get() : known;
    }

    /** Adds an object that is no longer in use. */
    synchronized void add(T object) {
        if (!closed && free.size() < MOST) {
            free.addFirst(object);
        }
    }

    /** Drops all objects, also those that are added later. */
    synchronized void close() {
        closed = true;
        free.clear();
    }
}
