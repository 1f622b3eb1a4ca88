package org.ep4j.gpu;

/**
 * A kernel that can be launched; from {@link GpuKernels#kernel}. One thread at a time.
 * Only ep4j implements this interface; it may gain methods.
 */
public interface GpuKernel {
    /** The most fields of a launch. */
    int MAX_FIELDS = 64;

    /**
     * Queues the kernel.
     *
     * @param blocks of the grid, at least 1
     * @param fields of its {@code struct Op} in order: addresses and whole numbers; those that are left out at the end are 0
     * @throws org.ep4j.EpArgumentException when there are more than {@link #MAX_FIELDS} fields, no blocks, or the stream is of another device
     * @throws org.ep4j.EpStateException if the kernels or the stream are closed
     */
    void launch(GpuStream stream, int blocks, long... fields);
}
