package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import org.ep4j.engine.buffer.EngineHandle;
import org.ep4j.engine.gpu.Operations.Queue;

/**
 * A handle whose routing lies in device memory, which goes back to its pool also when the handle can no longer be
 * reached. Operations retain it for their receiving half alone, whose kernels are queued after those of later operations.
 *
 * @param <O> type of the mode
 */
abstract class PooledHandle<O> extends EngineHandle<O, HandlePool.HandleMemory> {
    private final HandlePool pool;
    private final Cleaner.Cleanable release;

    PooledHandle(O owner, HandlePool pool, HandlePool.HandleMemory memory, int tokens) {
        super(owner, memory, tokens);
        this.pool = pool;
        this.release = pool.bind(this, memory);
    }

    @Override
    protected final void free() {
        release.clean();
    }

    /** Before kernels that are given its address: it is checked again, since it may have been closed meanwhile. */
    final void usedBy(Queue queue) {
        requireOpen();
        if (queue.isCapturing()) {
            pool.keep(routing());
        }
    }
}
