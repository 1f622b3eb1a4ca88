package org.ep4j;

/**
 * Allocates memory of one device, which is freed together; from {@link EpDevice#arena}. All of it is zeroed and aligned to
 * 256 bytes at least. Not safe for use from several threads; the memory itself may be used from any thread.
 *
 * <p>On a GPU only that GPU reaches the memory: do not register it with a NIC, export it to another process, or pass it
 * to another GPU.
 *
 * <p>Allocations throw {@link EpResourceException} when there is not enough memory, and {@link EpStateException} after
 * {@link #close}.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface TensorArena extends AutoCloseable {
    /**
     * Allocates memory.
     *
     * @throws EpArgumentException when {@code bytes} is negative
     */
    DeviceMemory memory(long bytes);

    /**
     * Allocates a tensor.
     *
     * @param dims sizes of the dimensions, outermost first; none for a scalar
     * @throws EpArgumentException when a dimension is negative, or the size passes 2^63
     */
    Tensor tensor(DataType type, long... dims);

    /**
     * Allocates a BF16 tensor with these values, rounded as {@link DataType#toBf16} does.
     *
     * @param values all elements, the innermost dimension fastest
     * @param dims sizes of the dimensions, outermost first
     * @throws EpArgumentException when there are more or fewer values than elements
     */
    Tensor bf16(float[] values, long... dims);

    /** Allocates an FP32 tensor with these values; as {@link #bf16}. */
    Tensor fp32(float[] values, long... dims);

    /** Allocates an INT32 tensor with these values; as {@link #bf16}. */
    Tensor int32(int[] values, long... dims);

    /** Allocates an INT64 tensor with these values; as {@link #bf16}. */
    Tensor int64(long[] values, long... dims);

    /**
     * Frees all memory of the arena. On the host, memory that operations in flight and {@linkplain EpDevice#view views}
     * use is freed when they end. On a GPU it is freed at once: close the arena when the work that uses it is done, so
     * after the buffers whose operations use it, and before the group; memory of an arena that is closed after its group
     * may stay allocated until the process ends. A second call does nothing.
     */
    @Override
    void close();
}
