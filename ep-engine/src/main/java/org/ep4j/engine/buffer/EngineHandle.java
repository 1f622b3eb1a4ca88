package org.ep4j.engine.buffer;

import org.ep4j.EpStateException;

/**
 * A handle of one mode {@code O} of one buffer. Its routing {@code R} is freed once the handle is closed and no operation uses it any
 * more. Safe for use from several threads.
 */
public abstract class EngineHandle<O, R> {
    private final O owner;
    private final R routing;
    private final int tokens;
    private int users;
    private volatile boolean closed;

    /** Creates an open handle of a mode, with a routing that no other handle has and the number of tokens that this rank sent. */
    protected EngineHandle(O owner, R routing, int tokens) {
        this.owner = owner;
        this.routing = routing;
        this.tokens = tokens;
    }

    /** Refuses handles of other buffers, and handles that are closed; {@code type} is that of the handles of {@code owner}. */
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
     * Keeps the routing for an operation, or for its receiving half, until {@link #release}.
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
