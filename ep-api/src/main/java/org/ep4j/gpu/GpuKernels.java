package org.ep4j.gpu;

/**
 * Kernels of one source, loaded on one GPU; from {@link GpuDevice#compile}. One thread at a time.
 * Only ep4j implements this interface; it may gain methods.
 */
public interface GpuKernels extends AutoCloseable {
    /**
     * Returns a kernel by its name; keep it, since it is looked up by the driver.
     *
     * @param name in {@code EP_KERNEL}
     * @param threads of a block, from 1 to what {@code EP_KERNEL} says
     * @param sharedBytes dynamic shared memory of a block; with the kernel's static shared memory at most {@link GpuInfo#sharedBytes}
     * @throws org.ep4j.EpArgumentException when the source has no such kernel, or a number is out of range
     * @throws org.ep4j.EpStateException after {@link #close}
     */
    GpuKernel kernel(String name, int threads, int sharedBytes);

    /** Unloads the kernels; nothing of them may be running. A second call does nothing. */
    @Override
    void close();
}
