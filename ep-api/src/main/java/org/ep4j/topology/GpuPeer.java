package org.ep4j.topology;

/**
 * Another GPU of the same machine, seen from one GPU.
 *
 * @param gpu its index on the host
 * @param distance how near it is
 * @param card index of the first partition of the GPU that it is a partition of; its own where GPUs are not divided
 * @param link {@link LinkType#NVLINK} or {@link LinkType#XGMI} where they are joined by GPU links, else {@link LinkType#PCI}
 */
public record GpuPeer(int gpu, int card, Distance distance, LinkType link) {
    /** A GPU that is not divided. */
    public GpuPeer(int gpu, Distance distance, LinkType link) {
        this(gpu, gpu, distance, link);
    }
}
