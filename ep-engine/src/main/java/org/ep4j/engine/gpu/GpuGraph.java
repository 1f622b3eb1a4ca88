package org.ep4j.engine.gpu;

import org.ep4j.EpEvent;

/**
 * Recorded work that can be queued again and again with one call. What the recorded operations read and write, buffers and
 * tensors among them, must stay as it is until the last launch is done. Handles of recorded operations may be forgotten or
 * closed: their memory is kept until the graph is closed. How many blocks kernels have is recorded too: make all buffers of a
 * GPU before recording. One thread at a time.
 */
public interface GpuGraph extends AutoCloseable {
    /**
     * Queues all of it once. Launches run one after another, also on different streams; with operations of a buffer in it,
     * also one after another with that buffer's other operations, so that what masks ranks or recovers waits for it.
     *
     * @return its end. Waiting for it throws what an operation of the replay ended with, as the event of an operation that is
     *     not recorded does. When several replays were queued before anyone looked, a failure is told to all that may have had
     *     it.
     * @throws org.ep4j.EpStateException when the graph or a buffer of it is closed, or {@code stream} is one that an operation
     *     would be refused on
     */
    EpEvent launch(long stream);

    /** Frees it, and the memory of handles that it used; nothing of it may be running. */
    @Override
    void close();
}
