package org.ep4j.gpu;

import java.time.Duration;
import org.ep4j.DeviceMemory;
import org.ep4j.EpEvent;

/**
 * A stream: work that is queued on it runs in the order of the calls. Safe for use from several threads. All calls but {@link #close} throw
 * {@link org.ep4j.EpStateException} after {@link #close}. Only ep4j implements this interface; it may gain methods.
 */
public interface GpuStream extends AutoCloseable {
    /** Native handle of the stream, {@code CUstream} or {@code hipStream_t}; for {@link org.ep4j.OpOptions#onStream}. */
    long handle();

    /**
     * Blocks the calling thread until everything that was queued before is done. A timeout does not stop the work.
     *
     * @param timeout longest wait
     * @throws org.ep4j.EpTimeoutException when {@code timeout} ends first
     * @throws org.ep4j.EpStateException while the stream is being captured
     */
    void synchronize(Duration timeout);

    /**
     * Lets work that is queued later wait for an event; does not block the calling thread.
     *
     * @param event of a GPU ({@link EpEvent#nativeHandle} is not 0), or one that is done
     * @throws org.ep4j.EpArgumentException when it is neither, as an event of the host may be: await it first
     */
    void waitFor(EpEvent event);

    /**
     * Queues a copy of all bytes of {@code from} to the start of {@code to}.
     *
     * @param to memory of this GPU
     * @param from memory of this GPU that does not overlap {@code to}
     * @throws org.ep4j.EpArgumentException when the memory is on another device, or {@code to} is shorter
     * @throws org.ep4j.EpStateException if the memory belongs to an arena or a buffer that is closed
     */
    void copy(DeviceMemory to, DeviceMemory from);

    /**
     * Queues zeroing of all bytes of {@code memory}.
     *
     * @throws org.ep4j.EpArgumentException when the memory is on another device
     * @throws org.ep4j.EpStateException if the memory belongs to an arena or a buffer that is closed
     */
    void zero(DeviceMemory memory);

    /**
     * Records what {@code work} queues on this stream into a graph; nothing of it runs now. Operations of buffers inside must be asynchronous,
     * and dispatches of the high-throughput mode in the worst case. An operation with the receive hook must have both halves inside. Streams 0
     * and 1 cannot be captured.
     *
     * <p>A stream that waits for an event of the capture is captured, too: record an event here and let the other stream wait for it; before
     * {@code work} returns, record one there and let this stream wait for that.
     *
     * @param work runs in the calling thread before this returns, and calls operations of buffers in this thread alone; what it throws ends
     *     the capture and is thrown
     * @throws org.ep4j.EpStateException when {@code receive()} of an operation inside was not called before {@code work} returned
     * @throws org.ep4j.EpException when something was queued that cannot be recorded
     */
    GpuGraph capture(Runnable work);

    /** Destroys the stream once its work is done, without waiting; leaves one that is the caller's. A second call does nothing. */
    @Override
    void close();
}
