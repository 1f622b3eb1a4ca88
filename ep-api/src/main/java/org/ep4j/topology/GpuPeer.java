package org.ep4j.topology;

import java.util.List;

/**
 * How one GPU reaches another GPU of its machine.
 *
 * @param gpu index of the other GPU on the host
 * @param distance how near the other GPU is
 * @param card index of the first partition of the GPU that it is a partition of; its own where GPUs are not divided
 * @param via GPUs that are neighbours of both where the way is {@link PathType#NVB}, by index; those with the widest links
 * @param link {@link LinkType#NVLINK} or {@link LinkType#XGMI} where they are joined by GPU links, else {@link LinkType#PCI}
 */
public record GpuPeer(int gpu, int card, Distance distance, LinkType link, List<Integer> via) {
    /** Copies the list. */
    public GpuPeer {
        via = List.copyOf(via);
    }

    /** Creates the way to a GPU that is not divided into partitions. */
    public GpuPeer(int gpu, Distance distance, LinkType link) {
        this(gpu, gpu, distance, link, List.of());
    }
}
