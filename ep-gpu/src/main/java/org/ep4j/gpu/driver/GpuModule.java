package org.ep4j.gpu.driver;

/** Kernels that are loaded on one GPU. */
public interface GpuModule extends AutoCloseable {
    /** A kernel by its name, allowed {@code sharedBytes} of dynamic shared memory. */
    long kernel(String name, int sharedBytes);

    /** The driver's handle. */
    long handle();

    /** Unloads; nothing of it may be running. */
    @Override
    void close();
}
