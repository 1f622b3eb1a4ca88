package org.ep4j.engine.host;

import org.ep4j.EpStateException;

/**
 * A handle whose routing a later dispatch fills again, once the handle is closed and no operation uses it any more. The routing of a
 * handle that is never closed is garbage with it. Equal to itself only; safe for use from several threads.
 *
 * @param <T> type of the routing
 */
abstract class RecyclableHandle<T> {
    private final T routing;
    private final FreeList<T> free;
    private int users;
    private boolean closed;

    /**
     * Creates an open handle.
     *
     * @param routing that no other handle has
     * @param free where the routing goes when it is no longer used
     */
    RecyclableHandle(T routing, FreeList<T> free) {
        this.routing = routing;
        this.free = free;
    }

    /**
     * Keeps the routing for an operation, which calls {@link #release} when it has ended.
     *
     * @throws EpStateException when the handle is closed
     */
    final synchronized T retain() {
        requireOpen();
        users++;
        return routing;
    }

    final synchronized void requireOpen() {
        if (closed) {
            throw new EpStateException(
                    "the handle is closed; close a handle only after calling the last operation that uses it");
        }
    }

    /** Ends one {@link #retain}. */
    final synchronized void release() {
        users--;
        recycle();
    }

    /** Refuses later operations; a second call does nothing. */
    public final synchronized void close() {
        if (!closed) {
            closed = true;
            recycle();
        }
    }

    private void recycle() {
        if (closed && users == 0) {
            free.add(routing);
        }
    }
}
