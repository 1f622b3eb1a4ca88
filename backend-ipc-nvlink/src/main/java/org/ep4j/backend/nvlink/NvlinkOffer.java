package org.ep4j.backend.nvlink;

import java.util.List;
import java.util.Optional;
import org.ep4j.engine.driver.PeerFacts;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;

/**
 * How one rank's GPU reaches another's: by NVLink on a host or in a domain of hosts, or by PCIe as far as NCCL uses it by
 * default (one PCIe tree, {@code NCCL_P2P_LEVEL=PXB}). What stands against it on either side refuses both directions.
 */
final class NvlinkOffer {
    private static final String DEVICE = "cuda";

    private NvlinkOffer() {}

    static Offer between(RankProfile from, RankProfile to) {
        for (RankProfile rank : List.of(from, to)) {
            if (!rank.device().type().equals(DEVICE)) {
                return new NoPath(
                        "device " + rank.device().type() + " is not an NVIDIA GPU",
                        "set ep.device to cuda on all ranks, or use a backend for that device");
            }
            if (NvlinkFacts.ALL.fact(rank, PeerFacts.GPU).isEmpty()) {
                return new NoPath(
                        "a rank did not report its GPU",
                        "run the same ep4j version on all ranks, and see the probe checks of that rank");
            }
        }
        Optional<NoPath> obstacle = from.hostId().equals(to.hostId()) ? onHost(from, to) : acrossHosts(from, to);
        if (obstacle.isPresent()) {
            return obstacle.get();
        }
        Optional<GpuPath> path = path(from, to);
        if (path.isEmpty()) {
            return new NoPath(
                    "the link between the GPUs is unknown",
                    "install the driver's NVML (libnvidia-ml.so.1); to plan from a file, add the links to it, or give --gpu-links"
                            + " all");
        }
        return offer(path.get());
    }

    private static Offer offer(GpuPath way) {
        if (way.gpuLinks() || way.distance().compareTo(PathType.PXB) <= 0) {
            return way.offer();
        }
        return new NoPath(
                "the GPUs have no NVLink, and their PCIe path is " + way.distance()
                        + ", farther than PXB, the limit for peer-to-peer",
                "choose GPUs below one PCIe switch, or let a backend for NICs or host memory connect them");
    }

    private static Optional<NoPath> acrossHosts(RankProfile from, RankProfile to) {
        if (from.domain().isEmpty() || !from.domain().equals(to.domain())) {
            return Optional.of(new NoPath(
                    "the GPUs are on different hosts and share no NVLink domain",
                    "multi-node NVLink needs equal cluster UUID and clique id and an IMEX channel on both hosts"
                            + " (to plan as if they had these, give --domain-hosts); otherwise use a NIC backend"));
        }
        for (RankProfile rank : List.of(from, to)) {
            if (!NvlinkFacts.ALL.fact(rank, NvlinkFacts.FABRIC).equals(PeerFacts.YES)) {
                return Optional.of(
                        new NoPath(
                                "the GPUs are in one NVLink domain, but at least one of the two ranks cannot use this domain: the rank's"
                                        + " driver does not support fabric handles, or the rank has no IMEX channel (see EP-NVL-007)",
                                "install driver 550 or newer, which supports multi-node NVLink on Hopper or newer GPUs, and start IMEX"));
            }
        }
        return Optional.empty();
    }

    private static Optional<NoPath> onHost(RankProfile from, RankProfile to) {
        return visibility(from, to).or(() -> visibility(to, from)).or(() -> NvlinkFacts.ALL.processes(from, to));
    }

    private static Optional<NoPath> visibility(RankProfile from, RankProfile to) {
        String gpu = NvlinkFacts.ALL.fact(to, PeerFacts.GPU);
        if (gpu.equals(NvlinkFacts.ALL.fact(from, PeerFacts.GPU))) {
            return Optional.empty();
        }
        if (NvlinkFacts.ALL.index(from, gpu).isEmpty()) {
            return Optional.of(new NoPath(
                    "the GPU at " + gpu + " is not visible to the rank with the GPU at "
                            + NvlinkFacts.ALL.fact(from, PeerFacts.GPU),
                    "give every container the GPUs of all ranks of the host (docker run --gpus all) and choose the"
                            + " GPU of each rank with ep.device or CUDA_VISIBLE_DEVICES"));
        }
        if (NvlinkFacts.ALL.lists(from, PeerFacts.DENIED, gpu)) {
            return Optional.of(new NoPath(
                    "CUDA denies peer access between the GPUs at " + NvlinkFacts.ALL.fact(from, PeerFacts.GPU) + " and "
                            + gpu,
                    "see nvidia-smi topo -p2p rw; with NVSwitch start the fabric manager, with PCIe turn off ACS and"
                            + " the IOMMU for these GPUs, or let a backend for NICs or host memory connect them"));
        }
        return Optional.empty();
    }

    /** True when the bytes of two ranks take PCIe. */
    static boolean byPci(RankProfile from, RankProfile to) {
        return path(from, to).filter(path -> !path.gpuLinks()).isPresent();
    }

    /** The way, when there is one; whether it may be used is another question. */
    static Optional<GpuPath> path(RankProfile from, RankProfile to) {
        if (!from.hostId().equals(to.hostId())) {
            return GpuPaths.between(from, to);
        }
        String mine = NvlinkFacts.ALL.fact(from, PeerFacts.GPU);
        String theirs = NvlinkFacts.ALL.fact(to, PeerFacts.GPU);
        if (mine.equals(theirs)) {
            return Optional.of(nvlink(from, PathType.LOC));
        }
        Optional<GpuPath> known = NvlinkFacts.ALL.described(from, to);
        boolean atomics = NvlinkFacts.ALL.lists(from, NvlinkFacts.ATOMICS, theirs);
        return known.isPresent() || !atomics ? known : Optional.of(nvlink(from, PathType.NVL));
    }

    private static GpuPath nvlink(RankProfile from, PathType distance) {
        String architecture = from.locality().architecture();
        double bandwidth = GpuPaths.nvlink(
                architecture.isEmpty() ? NvlinkFacts.ALL.fact(from, PeerFacts.ARCHITECTURE) : architecture);
        return new GpuPath(LinkType.NVLINK, distance, bandwidth, true);
    }
}
