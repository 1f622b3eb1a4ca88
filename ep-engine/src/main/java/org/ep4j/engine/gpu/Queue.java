package org.ep4j.engine.gpu;

/** Where the kernels of one operation go. */
interface Queue {
    /** The caller's stream. */
    long stream();

    /** Arguments that all kernels of this buffer share are set, the others 0. */
    Arguments arguments();

    /**
     * Queues a kernel.
     *
     * @param blocks of the grid
     * @param sharedBytes of dynamic shared memory
     */
    void launch(String kernel, int blocks, int threads, int sharedBytes, Arguments arguments);

    /** As {@link #launch}, for a kernel that calls {@code wait_for_previous}: see {@link GpuDevice#launchOverlapping}. */
    void launchOverlapping(String kernel, int blocks, int threads, int sharedBytes, Arguments arguments);

    /** Queues a copy between addresses of this device. */
    void copy(long to, long from, long bytes);

    /** Queues zeroing. */
    void zero(long address, long bytes);

    /** True while the stream records a graph: nothing may wait on the host. */
    boolean isCapturing();
}
