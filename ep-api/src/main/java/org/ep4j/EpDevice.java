package org.ep4j;

import java.nio.ByteBuffer;

/**
 * A device of a group: memory and copies. The group closes it. Safe for use from several threads.
 *
 * <p>Copies and views throw {@link EpStateException} if the memory belongs to an arena or a buffer that is closed.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface EpDevice {
    /** Which device this is. */
    Device id();

    /** Creates an arena, in which memory of this device is allocated; close it before the group. */
    TensorArena arena();

    /**
     * Copies all remaining bytes of {@code source} to the start of {@code target}; returns when the copy is complete.
     * Advances the buffer's position to its limit.
     *
     * @throws EpArgumentException when the memory is on another device, or shorter than the bytes
     */
    void upload(ByteBuffer source, DeviceMemory target);

    /**
     * Copies {@code target.remaining()} bytes from the start of {@code source}; returns when the copy is complete.
     * Advances the buffer's position to its limit.
     *
     * @throws EpArgumentException when the memory is on another device, or shorter than the bytes
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
     * memory is; memory of an arena or of a result stays mapped until its buffers are unreachable.
     *
     * @throws EpArgumentException when the host cannot read the memory, or it is longer than 2^31 - 1 bytes
     */
    ByteBuffer view(DeviceMemory memory);

    /**
     * Copies the elements of a small tensor to the host; BF16 is widened.
     *
     * @param tensor BF16 or FP32, at most 2^31 - 1 bytes
     * @throws EpArgumentException when it is of another type, longer, or on another device
     */
    float[] floats(Tensor tensor);

    /** Copies the elements of an INT32 tensor to the host; as {@link #floats}. */
    int[] ints(Tensor tensor);

    /** Copies the elements of an INT64 tensor to the host; as {@link #floats}. */
    long[] longs(Tensor tensor);
}
