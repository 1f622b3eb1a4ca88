package org.ep4j.plan.offer;

import java.util.List;
import java.util.Optional;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;

/**
 * How one GPU reaches another without a NIC.
 *
 * @param link {@link LinkType#NVLINK}, {@link LinkType#XGMI} or {@link LinkType#PCI}
 * @param distance how near they are
 * @param gigabytesPerSecond bandwidth of the way, one direction
 * @param packages the two AMD packages whose links all pairs of their partitions share; empty for other ways
 * @param relays GPUs that pass the bytes on; empty for other ways
 * @param shared true when the GPU's ways to its other peers use the same links, as through a switch; false when the two are
 *     joined by links of their own
 */
public record GpuPath(
        LinkType link,
        PathType distance,
        double gigabytesPerSecond,
        boolean shared,
        Optional<Packages> packages,
        Optional<Relays> relays) {
    /**
     * Two packages of AMD GPUs, at least one of which is divided into partitions.
     *
     * @param from index of the first partition of the one
     * @param to index of the first partition of the other
     * @param pairs pairs of partitions that share the links between them
     */
    public record Packages(int from, int to, int pairs) {}

    /**
     * GPUs that relay the bytes between two other GPUs; each relay passes on a part of them.
     *
     * @param gpus by index
     * @param pairs pairs that share a link of the way when all GPUs of the host write to each other
     */
    public record Relays(List<Integer> gpus, int pairs) {
        public Relays {
            gpus = List.copyOf(gpus);
        }
    }

    /** Creates a path over links of the two GPUs alone, or over links that a GPU uses for all its peers. */
    public GpuPath(LinkType link, PathType distance, double gigabytesPerSecond, boolean shared) {
        this(link, distance, gigabytesPerSecond, shared, Optional.empty(), Optional.empty());
    }

    /** Returns true if this path uses GPU links, not PCIe. */
    public boolean gpuLinks() {
        return link != LinkType.PCI;
    }

    /**
     * Bandwidth of this path in GB/s when all GPUs exchange at once. It is rounded to a tenth, so that the order in
     * which links were summed does not matter.
     */
    public double achievable() {
        return Math.max(0.1, Math.rint(gigabytesPerSecond * Estimates.GPU_LINK_EFFICIENCY * 10) / 10);
    }

    /** Offer of this path for a backend that maps the peer's memory. */
    public Offer offer() {
        double micros =
                gpuLinks() ? Estimates.GPU_LINK_MICROS * (relays.isPresent() ? 2 : 1) : 2 * Estimates.PCI_MICROS;
        int sharers = packages.map(Packages::pairs)
                .or(() -> relays.map(Relays::pairs))
                .orElse(1);
        return Offer.path(EpPath.Kind.MAPPED)
                .gigabytesPerSecond(achievable())
                .latencyMicros(micros)
                .sharers(sharers)
                .build();
    }
}
