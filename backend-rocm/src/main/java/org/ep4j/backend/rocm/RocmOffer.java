package org.ep4j.backend.rocm;

import java.util.List;
import java.util.Optional;
import org.ep4j.engine.driver.PeerFacts;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.topology.LinkBandwidths;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;

/**
 * How one rank's GPU reaches another's on their host: by xGMI, or by PCIe at any distance, as RCCL does. What stands against
 * it on either side refuses both directions: HIP was seen to allow peer access one way only.
 */
final class RocmOffer {
    static final String DEVICE = "hip";

    private RocmOffer() {}

    static Offer between(RankProfile from, RankProfile to) {
        for (RankProfile rank : List.of(from, to)) {
            if (!rank.device().type().equals(DEVICE)) {
                return new NoPath(
                        "device " + rank.device().type() + " is not an AMD GPU",
                        "set ep.device to hip on all ranks, or use a backend for that device");
            }
            if (RocmFacts.ALL.fact(rank, PeerFacts.GPU).isEmpty()) {
                return new NoPath(
                        "a rank did not report its GPU",
                        "run the same ep4j version on all ranks, and see the probe checks of that rank");
            }
        }
        if (!from.hostId().equals(to.hostId())) {
            return new NoPath(
                    "the GPUs are on different hosts, and xGMI connects only GPUs of one host", "add a NIC backend");
        }
        Optional<NoPath> obstacle =
                visibility(from, to).or(() -> visibility(to, from)).or(() -> RocmFacts.ALL.processes(from, to));
        if (obstacle.isPresent()) {
            return obstacle.get();
        }
        Optional<GpuPath> path = path(from, to);
        if (path.isEmpty()) {
            return new NoPath(
                    "the link between the GPUs is unknown",
                    "make /sys/class/kfd readable to the process; to plan from a file, add the links to it, or give --gpu-links all");
        }
        return path.get().offer();
    }

    private static Optional<NoPath> visibility(RankProfile from, RankProfile to) {
        String mine = RocmFacts.ALL.fact(from, PeerFacts.GPU);
        String theirs = RocmFacts.ALL.fact(to, PeerFacts.GPU);
        if (theirs.equals(mine)) {
            return Optional.empty();
        }
        if (RocmFacts.ALL.index(from, theirs).isEmpty()) {
            return Optional.of(new NoPath(
                    "the GPU at " + theirs + " is hidden from the rank with the GPU at " + mine
                            + ", and HIP can map only memory of visible GPUs",
                    "give every rank all GPUs of the group (--device /dev/kfd --device /dev/dri; leave ROCR_VISIBLE_DEVICES"
                            + " and HIP_VISIBLE_DEVICES unset) and choose the GPU of each rank with ep.device"));
        }
        if (RocmFacts.ALL.lists(from, PeerFacts.DENIED, theirs)) {
            return Optional.of(new NoPath(
                    "HIP denies peer access between the GPUs at " + mine + " and " + theirs,
                    "see rocm-smi --showtopoaccess; with PCIe the BIOS must give the GPUs large BARs, and the kernel"
                            + " needs CONFIG_HSA_AMD_P2P; or let a backend for NICs or host memory connect them"));
        }
        return Optional.empty();
    }

    /** True when the bytes of two ranks take PCIe. */
    static boolean byPci(RankProfile from, RankProfile to) {
        return path(from, to).filter(path -> !path.gpuLinks()).isPresent();
    }

    /** The way, when there is one; whether it may be used is another question. */
    static Optional<GpuPath> path(RankProfile from, RankProfile to) {
        double link = LinkBandwidths.xgmi(architecture(from));
        String theirs = RocmFacts.ALL.fact(to, PeerFacts.GPU);
        if (theirs.equals(RocmFacts.ALL.fact(from, PeerFacts.GPU))) {
            return Optional.of(new GpuPath(LinkType.XGMI, PathType.LOC, link, true));
        }
        Optional<GpuPath> told = RocmFacts.hops(from, theirs)
                .map(hops -> new GpuPath(LinkType.XGMI, PathType.NVL, link / hops, hops > 1));
        Optional<GpuPath> pci = RocmFacts.ALL.lists(from, RocmFacts.PCI, theirs)
                ? Optional.of(new GpuPath(LinkType.PCI, PathType.SYS, Estimates.PCI_GIGABYTES, true))
                : Optional.empty();
        // The topology knows of parallel links, which HIP does not; HIP knows of links that /sys may hide.
        Optional<GpuPath> described = RocmFacts.ALL.described(from, to);
        return described
                .filter(GpuPath::gpuLinks)
                .or(() -> told)
                .or(() -> described)
                .or(() -> pci);
    }

    private static String architecture(RankProfile rank) {
        String described = rank.locality().architecture();
        return described.isEmpty() ? RocmFacts.ALL.fact(rank, PeerFacts.ARCHITECTURE) : described;
    }
}
