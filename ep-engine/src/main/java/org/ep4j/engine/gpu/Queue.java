package org.ep4j.engine.gpu;

import org.ep4j.Tensor;
import org.ep4j.gpu.driver.EngineGpu;

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

    /** As {@link #launch}, for a kernel that calls {@code wait_for_previous}, at its beginning or its end: see {@link EngineGpu#launchOverlapping}. */
    void launchOverlapping(String kernel, int blocks, int threads, int sharedBytes, Arguments arguments);

    /**
     * Queues the kernel that receives, behind the one that sends {@code x}. It begins while that still reads, so that it must wait where
     * {@code out} is the same memory.
     */
    default void launchReceiving(
            String kernel, int blocks, int threads, int sharedBytes, Arguments arguments, Tensor x, Tensor out) {
        boolean apart = out.address() + out.byteSize() <= x.address() || x.address() + x.byteSize() <= out.address();
        if (apart) {
            launchOverlapping(kernel, blocks, threads, sharedBytes, arguments);
        } else {
            launch(kernel, blocks, threads, sharedBytes, arguments);
        }
    }

    /** Queues a copy between addresses of this device. */
    void copy(long to, long from, long bytes);

    void zero(long address, long bytes);

    /** True while the stream records a graph: nothing may wait on the host. */
    boolean isCapturing();
}
