package org.ep4j.engine.gpu;

/**
 * What a GPU's driver says of NICs that read and write its memory (GPUDirect RDMA).
 *
 * @param supported they may
 * @param dmaBuf the driver gives memory out as dma-buf
 * @param writesOrdering whose kernels see what a NIC wrote without a flush, a {@code CUGPUDirectRDMAWritesOrdering}: 0 nobody's,
 *     {@value #OWNER} those of the GPU that has the memory, 200 those of all
 * @param flushOptions how writes can be flushed, bits of {@code CUflushGPUDirectRDMAWritesOptions}: {@value #BY_HOST} by a call of
 *     the host
 */
public record GpuDirect(boolean supported, boolean dmaBuf, int writesOrdering, int flushOptions) {
    /** The GPU that has the memory sees writes in order. */
    public static final int OWNER = 100;

    /** A call of the host flushes. */
    public static final int BY_HOST = 1;
}
