package org.ep4j.plan.offer;

import java.util.List;
import org.ep4j.plan.PathKind;
import org.ep4j.spi.PathOffer;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;

/**
 * How one GPU reaches another without a NIC.
 *
 * @param link {@link LinkType#NVLINK}, {@link LinkType#XGMI} or {@link LinkType#PCI}
 * @param distance how near they are
 * @param gigabytesPerSecond bandwidth of the way, one direction
 * @param shared true when the GPU's ways to its other peers use the same links, as through a switch; false when the two are
 *     joined by links of their own
 */
public record GpuPath(LinkType link, PathType distance, double gigabytesPerSecond, boolean shared) {
    /** True when the way is made of GPU links. */
    public boolean gpuLinks() {
        return link != LinkType.PCI;
    }

    /** What all GPUs get from it when all exchange at once, GB/s; to a tenth, so that sums of links in any order agree. */
    public double achievable() {
        return Math.max(0.1, Math.rint(gigabytesPerSecond * Estimates.GPU_LINK_EFFICIENCY * 10) / 10);
    }

    /**
     * The offer of a backend that maps the peer's memory.
     *
     * @param peers peers that share the way where it is shared, as {@link HostPeers} counts them
     */
    public PathOffer offer(int peers) {
        double micros = gpuLinks() ? Estimates.GPU_LINK_MICROS : 2 * Estimates.PCI_MICROS;
        return new PathOffer(PathKind.MAPPED, achievable(), micros, List.of()).withSharers(shared ? peers : 1);
    }
}
