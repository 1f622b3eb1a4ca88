package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import org.ep4j.EpStateException;

/** A handle whose routing lies in device memory, which goes back to its pool with the handle. By identity. */
abstract class PooledHandle {
    private final HandlePool pool;
    private final HandlePool.HandleMemory memory;
    private final int tokens;
    private final Cleaner.Cleanable release;
    private int pending;
    private volatile boolean closed;

    PooledHandle(HandlePool pool, HandlePool.HandleMemory memory, int tokens) {
        this.pool = pool;
        this.memory = memory;
        this.tokens = tokens;
        this.release = pool.bind(this, memory);
    }

    final HandlePool.HandleMemory memory() {
        return memory;
    }

    /** T, tokens that this rank sent. */
    public final int tokens() {
        return tokens;
    }

    /** Gives the memory back when nothing is pending; a second call does nothing. */
    public final synchronized void close() {
        closed = true;
        giveBack();
    }

    /** Keeps the memory for the receiving half of an operation, whose kernels are queued after those of later operations. */
    final synchronized void beginPending() {
        requireOpen();
        pending++;
    }

    /** Ends one {@link #beginPending}: its kernels are queued, or never will be. */
    final synchronized void endPending() {
        pending--;
        giveBack();
    }

    private void giveBack() {
        if (closed && pending == 0) {
            release.clean();
        }
    }

    /** Before kernels that are given its address: it is checked again, since it may have been closed meanwhile. */
    final void usedBy(Queue queue) {
        requireOpen();
        if (queue.isCapturing()) {
            pool.keep(memory);
        }
    }

    final void requireOpen() {
        if (closed) {
            throw new EpStateException(
                    "the handle is closed; close a handle only after calling the last operation that uses it");
        }
    }
}
