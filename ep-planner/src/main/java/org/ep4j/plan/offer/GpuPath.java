package org.ep4j.plan.offer;

import java.util.List;
import java.util.Optional;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.LinkBandwidths;

/**
 * The path from one GPU to another without a NIC.
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

    /**
     * Finds the path from one rank's GPU to another's over GPU links or PCIe on a host, or over GPU links in a domain of several
     * hosts; empty when there is none.
     */
    public static Optional<GpuPath> between(RankProfile from, RankProfile to) {
        Locality a = from.locality();
        Locality b = to.locality();
        if (a.gpu() < 0 || b.gpu() < 0) {
            return Optional.empty();
        }
        if (!from.hostId().equals(to.hostId())) {
            boolean domain = !from.domain().isEmpty() && from.domain().equals(to.domain());
            return domain ? Optional.of(inDomain(a)) : Optional.empty();
        }
        if (a.gpu() != b.gpu()) {
            return a.peer(b.gpu()).map(peer -> toPeer(a, peer));
        }
        LinkType link = a.vendor() == GpuVendor.AMD ? LinkType.XGMI : LinkType.NVLINK;
        return Optional.of(new GpuPath(link, PathType.LOC, linkBandwidth(a, link, 0), true));
    }

    private static GpuPath toPeer(Locality gpu, GpuPeer peer) {
        PathType type = peer.distance().type();
        double bandwidth = linkBandwidth(gpu, peer.link(), peer.distance().gigabytesPerSecond());
        int pairs = peer.link() == LinkType.XGMI && gpu.card() != peer.card()
                ? gpu.partitions(gpu.card()) * gpu.partitions(peer.card())
                : 1;
        if (pairs > 1) {
            Packages packages = new Packages(gpu.card(), peer.card(), pairs);
            return new GpuPath(peer.link(), type, bandwidth, false, Optional.of(packages), Optional.empty());
        }
        if (!peer.via().isEmpty()) {
            Relays relays = new Relays(peer.via(), pairsOnLink(gpu));
            return new GpuPath(peer.link(), type, bandwidth, false, Optional.empty(), Optional.of(relays));
        }
        // Two hops are through a switch. Sources without hops: NVLink GPUs in one server mostly have switches, xGMI has
        // none.
        boolean direct = peer.distance().hops() == 1 || (peer.distance().hops() == 0 && peer.link() == LinkType.XGMI);
        boolean shared = peer.link() == LinkType.PCI || !direct;
        return new GpuPath(peer.link(), type, bandwidth, shared);
    }

    /** Each link carries its own pair, and what goes over two links to peers that are no neighbours, in equal parts. */
    private static int pairsOnLink(Locality gpu) {
        long far = gpu.peers().stream().filter(peer -> !peer.via().isEmpty()).count();
        long near = gpu.peers().stream()
                .filter(peer -> peer.link() == LinkType.XGMI && peer.via().isEmpty())
                .count();
        return (int) Math.ceil((near + 2.0 * far) / Math.max(1, near));
    }

    private static GpuPath inDomain(Locality gpu) {
        double known = gpu.peers().stream()
                .filter(peer -> peer.link() == LinkType.NVLINK)
                .mapToDouble(peer -> peer.distance().gigabytesPerSecond())
                .max()
                .orElse(0);
        return new GpuPath(LinkType.NVLINK, PathType.NVL, linkBandwidth(gpu, LinkType.NVLINK, known), true);
    }

    private static double linkBandwidth(Locality gpu, LinkType link, double known) {
        if (known > 0) {
            return known;
        }
        return switch (link) {
            case NVLINK -> LinkBandwidths.nvlinks(gpu.architecture());
            case XGMI -> LinkBandwidths.xgmi(gpu.architecture());
            default -> Estimates.PCI_GIGABYTES;
        };
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
