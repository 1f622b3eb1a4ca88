package org.ep4j.gpu;

import org.ep4j.EpEvent;

/**
 * Recorded work that is queued again and again with one call. Buffers, tensors and everything else that the recorded work reads and writes must
 * stay as it is until the last launch is done. Handles of recorded operations may be closed: their memory is kept until the graph is closed.
 * The number of blocks of each kernel is recorded too, so create all buffers of a GPU before. One thread at a time.
 * Only ep4j implements this interface; it may gain methods.
 */
public interface GpuGraph extends AutoCloseable {
    /**
     * Queues all of it once. Launches run one after another, also on different streams; with operations of a buffer in it, also one after
     * another with that buffer's other operations.
     *
     * @throws org.ep4j.EpArgumentException when the stream is of another device
     * @throws org.ep4j.EpStateException when the graph, the stream or a buffer of the graph is closed, a buffer has moved since,
     *     {@code stream} is one that an operation would be refused on, or the graph has low-latency operations of a buffer while an
     *     operation outside of the graph was sent and not received there
     */
    void launch(GpuStream stream);

    /**
     * Returns the end of the last launch. To await it throws what an operation of that launch ended with. When several launches were queued
     * before any was awaited, all of them that may have failed report the failure.
     *
     * @throws org.ep4j.EpStateException before the first launch
     */
    EpEvent lastLaunch();

    /** Frees the graph, and the memory of handles that it kept; nothing of it may be running. A second call does nothing. */
    @Override
    void close();
}
