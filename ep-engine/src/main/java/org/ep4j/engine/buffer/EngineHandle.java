package org.ep4j.engine.buffer;

import org.ep4j.EpStateException;

/**
 * A handle of one mode of one buffer. Its routing is freed once the handle is closed and no operation uses it any
 * more. Equal to itself only; safe for use from several threads.
 *
 * @param <O> type of the mode
 * @param <R> type of the routing
 */
public abstract class EngineHandle<O, R> {
    private final O owner;
    private final R routing;
    private final int tokens;
    private int users;
    private volatile boolean closed;

    /**
     * Creates an open handle.
     *
     * @param owner the mode, by identity
     * @param routing that no other handle has
     * @param tokens that this rank sent
     */
    protected EngineHandle(O owner, R routing, int tokens) {
        this.owner = owner;
        this.routing = routing;
        this.tokens = tokens;
    }

    /**
     * Refuses handles of other buffers, and handles that are closed.
     *
     * @param type of the handles of {@code owner}
     */
    public static <H extends EngineHandle<?, ?>> H own(Object handle, Class<H> type, Object owner) {
        if (type.isInstance(handle)) {
            H own = type.cast(handle);
            if (own.owner() == owner) {
                own.requireOpen();
                return own;
            }
        }
        throw new EpStateException("the handle belongs to another buffer (or to a closed one);"
                + " combine on the buffer that dispatched, with the handle of that dispatch");
    }

    /** Frees the routing. Called at most once, under the lock of this handle. */
    protected abstract void free();

    public final O owner() {
        return owner;
    }

    public final R routing() {
        return routing;
    }

    /** T, tokens that this rank sent. */
    public final int tokens() {
        return tokens;
    }

    public final void requireOpen() {
        if (closed) {
            throw new EpStateException(
                    "the handle is closed; close a handle only after calling the last operation that uses it");
        }
    }

    /**
     * Keeps the routing for an operation, or for its receiving half, which calls {@link #release} when it has ended.
     *
     * @throws EpStateException when the handle is closed
     */
    public final synchronized R retain() {
        requireOpen();
        users++;
        return routing;
    }

    /** Ends one {@link #retain}. */
    public final synchronized void release() {
        users--;
        if (closed && users == 0) {
            free();
        }
    }

    /** Refuses later operations; a second call does nothing. */
    public final synchronized void close() {
        if (!closed) {
            closed = true;
            if (users == 0) {
                free();
            }
        }
    }
}
