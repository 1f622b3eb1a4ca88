package org.ep4j;

import java.nio.ByteBuffer;

/** A device that is open in this process: memory, copies and events. Safe for use from several threads. */
public interface EpDevice extends AutoCloseable {
    /** Which device this is. */
    Device id();

    /**
     * Allocates zeroed memory, aligned to at least 256 bytes. On a GPU, closing the allocation may wait for all work of this process on
     * that GPU, operations of other buffers and ranks among it.
     *
     * @throws EpResourceException when there is not enough
     */
    DeviceAllocation allocate(long bytes);

    /**
     * Copies all remaining bytes of {@code source} to the start of {@code target}; returns when the copy is complete.
     * Advances the buffer's position to its limit.
     *
     * @throws EpArgumentException when the memory is on another device, or shorter than the bytes
     * @throws EpStateException if the memory is of an allocation or a buffer that is closed
     */
    void upload(ByteBuffer source, DeviceMemory target);

    /**
     * Copies {@code target.remaining()} bytes from the start of {@code source}; returns when the copy is complete.
     * Advances the buffer's position to its limit.
     *
     * @throws EpArgumentException when the memory is on another device, or shorter than the bytes
     * @throws EpStateException if the memory is of an allocation or a buffer that is closed
     */
    void download(DeviceMemory source, ByteBuffer target);

    /**
     * The remaining bytes of a direct buffer as memory of this device, without a copy. The memory keeps the buffer
     * reachable.
     *
     * @throws EpArgumentException when the buffer is not direct, or the device cannot read host memory
     */
    DeviceMemory wrap(ByteBuffer direct);

    /**
     * Memory of this device as a direct buffer in native byte order, without a copy. It is valid for as long as the
     * memory is; memory of a {@link DeviceAllocation} or of a result stays mapped until its buffers are unreachable.
     *
     * @throws EpArgumentException when the host cannot read the memory, or it is longer than 2^31 - 1 bytes
     * @throws EpStateException if the memory is of an allocation or a buffer that is closed
     */
    ByteBuffer view(DeviceMemory memory);

    /**
     * An event that completes when the work already queued on {@code stream} is done; on the host, a completed event.
     */
    EpEvent record(long stream);

    /**
     * Closes the device; allocations are freed by their own {@code close}. The device of {@link EpGroup#device}
     * belongs to the group: do not close it.
     */
    @Override
    void close();
}
