package org.ep4j.gpu;

import org.ep4j.EpEvent;

/**
 * An event that is recorded again and again, and stands for where it was recorded last; before, it is done. Safe for use from several threads.
 * All calls but {@link #close} throw {@link org.ep4j.EpStateException} after {@link #close}.
 *
 * <p>One that was recorded last in a {@linkplain GpuStream#capture capture} only orders the streams of the graph: it is done, whether the
 * graph has run or not, and has no time; await {@link GpuGraph#lastLaunch} instead. {@link #isDone} and {@link #await} make the capture
 * fail when they are called before it ends.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface GpuEvent extends EpEvent, AutoCloseable {
    /**
     * Moves the event to the end of what is queued on {@code stream} now.
     *
     * @throws org.ep4j.EpArgumentException when the stream is of another device
     */
    void record(GpuStream stream);

    /**
     * Returns the time on the GPU from {@code start} to this event in nanoseconds, with the resolution of the GPU's clock (about half a
     * microsecond), or of 24 significant bits where that is less (1 microsecond from 8 seconds on). Does not block.
     *
     * @param start of the same GPU, recorded before this one
     * @throws org.ep4j.EpArgumentException when {@code start} is of another device
     * @throws org.ep4j.EpStateException if one of the two is not done: await it first
     * @throws org.ep4j.EpException when one of the two was never recorded, or in a capture last
     */
    long nanosSince(GpuEvent start);

    /** Destroys the event; streams that wait for it go on waiting. A second call does nothing. */
    @Override
    void close();
}
