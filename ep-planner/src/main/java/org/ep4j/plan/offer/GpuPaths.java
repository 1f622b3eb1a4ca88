package org.ep4j.plan.offer;

import java.util.Optional;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.LinkBandwidths;

/** Ways between GPUs that need no NIC: GPU links and PCIe on a host, GPU links in a domain of several hosts. */
public final class GpuPaths {
    private GpuPaths() {}

    /** The way from one rank's GPU to another's; empty when there is none. */
    public static Optional<GpuPath> between(RankProfile from, RankProfile to) {
        Locality a = from.locality();
        Locality b = to.locality();
        if (a.gpu() < 0 || b.gpu() < 0) {
            return Optional.empty();
        }
        if (from.hostId().equals(to.hostId())) {
            return a.gpu() == b.gpu()
                    ? Optional.of(sameGpu(a))
                    : a.peer(b.gpu()).map(peer -> toPeer(a, peer));
        }
        boolean domain = !from.domain().isEmpty() && from.domain().equals(to.domain());
        return domain ? Optional.of(inDomain(a)) : Optional.empty();
    }

    /**
     * Bandwidth in GB/s of all NVLinks of a GPU together, by the GPU's architecture ({@code sm_90}); for sources that
     * do not give the bandwidth.
     */
    public static double nvlink(String architecture) {
        int capability = capability(architecture);
        int links = capability >= 90 ? 18 : capability >= 80 ? 12 : 6;
        return links * LinkBandwidths.nvlink(capability);
    }

    private static GpuPath sameGpu(Locality gpu) {
        LinkType link = gpu.vendor() == GpuVendor.AMD ? LinkType.XGMI : LinkType.NVLINK;
        return new GpuPath(link, PathType.LOC, linkBandwidth(gpu, link, 0), true);
    }

    private static GpuPath toPeer(Locality gpu, GpuPeer peer) {
        double known = peer.distance().gigabytesPerSecond();
        int pairs = peer.link() == LinkType.XGMI && gpu.card() != peer.card()
                ? gpu.partitions(gpu.card()) * gpu.partitions(peer.card())
                : 1;
        if (pairs > 1) {
            GpuPath.Packages packages = new GpuPath.Packages(gpu.card(), peer.card(), pairs);
            double bandwidth = linkBandwidth(gpu, peer.link(), known);
            return new GpuPath(
                    peer.link(), peer.distance().type(), bandwidth, false, Optional.of(packages), Optional.empty());
        }
        if (!peer.via().isEmpty()) {
            GpuPath.Relays relays = new GpuPath.Relays(peer.via(), pairsOnLink(gpu));
            double bandwidth = linkBandwidth(gpu, peer.link(), known);
            return new GpuPath(
                    peer.link(), peer.distance().type(), bandwidth, false, Optional.empty(), Optional.of(relays));
        }
        // Two hops are through a switch. Sources without hops: NVLink GPUs in one server mostly have switches, xGMI has
        // none.
        boolean direct = peer.distance().hops() == 1 || (peer.distance().hops() == 0 && peer.link() == LinkType.XGMI);
        boolean shared = peer.link() == LinkType.PCI || !direct;
        return new GpuPath(peer.link(), peer.distance().type(), linkBandwidth(gpu, peer.link(), known), shared);
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
            case NVLINK -> nvlink(gpu.architecture());
            case XGMI -> LinkBandwidths.xgmi(gpu.architecture());
            default -> Estimates.PCI_GIGABYTES;
        };
    }

    private static int capability(String architecture) {
        String digits = architecture.replaceAll("\\D", "");
        return digits.isEmpty() || digits.length() > 4 ? 0 : Integer.parseInt(digits);
    }
}
