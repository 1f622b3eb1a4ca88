package org.ep4j.engine.gpu;

/**
 * Recorded work that can be queued again and again with one call. What the recorded operations read and write, buffers and
 * tensors among them, must stay as it is until the last launch is done. Handles of recorded operations may be forgotten or closed: their memory
 * is given back with the buffer. How many blocks kernels have is recorded too: make all buffers of a GPU before recording. One
 * thread at a time.
 */
public interface GpuGraph extends AutoCloseable {
    /** Queues all of it once. Launches run one after another, also on different streams. */
    void launch(long stream);

    /** Frees it; nothing of it may be running. */
    @Override
    void close();
}
