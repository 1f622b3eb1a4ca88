package org.ep4j.topology;

/**
 * Another GPU of the same machine, seen from one GPU.
 *
 * @param gpu its index on the host
 * @param distance how near it is
 * @param link {@link LinkType#NVLINK} or {@link LinkType#XGMI} where they are joined by GPU links, else {@link LinkType#PCI}
 */
public record GpuPeer(int gpu, Distance distance, LinkType link) {}
