package org.ep4j.backend.nvlink;

import java.util.List;
import java.util.Optional;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
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
            if (NvlinkFacts.fact(rank, NvlinkFacts.GPU).isEmpty()) {
                return new NoPath(
                        "a rank did not report its GPU",
                        "run the same ep4j version on all ranks, and see the checks of its probe");
            }
        }
        Optional<NoPath> obstacle = from.hostId().equals(to.hostId()) ? onHost(from, to) : acrossHosts(from, to);
        if (obstacle.isPresent()) {
            return obstacle.get();
        }
        Optional<GpuPath> path = path(from, to);
        if (path.isEmpty()) {
            return new NoPath(
                    "how the GPUs are joined is not known",
                    "describe their links, or install the driver's NVML (libnvidia-ml.so.1)");
        }
        return offer(path.get());
    }

    private static Offer offer(GpuPath way) {
        if (way.gpuLinks() || way.distance().compareTo(PathType.PXB) <= 0) {
            return way.offer();
        }
        return new NoPath(
                "the GPUs have no NVLink, and PCIe between them is " + way.distance()
                        + ", beyond PXB up to which peer-to-peer is used",
                "choose GPUs below one PCIe switch, or let their bytes take a NIC or host memory");
    }

    private static Optional<NoPath> acrossHosts(RankProfile from, RankProfile to) {
        if (from.domain().isEmpty() || !from.domain().equals(to.domain())) {
            return Optional.of(new NoPath(
                    "they are on different hosts and share no NVLink domain",
                    "multi-node NVLink needs equal cluster UUID and clique id and an IMEX channel on both hosts"
                            + " (--domain-hosts plans with one); otherwise a NIC backend connects them"));
        }
        for (RankProfile rank : List.of(from, to)) {
            if (!NvlinkFacts.fact(rank, NvlinkFacts.FABRIC).equals(NvlinkFacts.YES)) {
                return Optional.of(new NoPath(
                        "they are in one NVLink domain, but the driver of one has no fabric handles",
                        "install a driver for Hopper or newer with multi-node NVLink (550 or newer) and start IMEX"));
            }
        }
        return Optional.empty();
    }

    private static Optional<NoPath> onHost(RankProfile from, RankProfile to) {
        return visibility(from, to).or(() -> visibility(to, from)).or(() -> processes(from, to));
    }

    private static Optional<NoPath> visibility(RankProfile from, RankProfile to) {
        String gpu = NvlinkFacts.fact(to, NvlinkFacts.GPU);
        if (gpu.equals(NvlinkFacts.fact(from, NvlinkFacts.GPU))) {
            return Optional.empty();
        }
        if (NvlinkFacts.index(from, gpu).isEmpty()) {
            return Optional.of(new NoPath(
                    "the GPU at " + gpu + " does not exist for the rank with the GPU at "
                            + NvlinkFacts.fact(from, NvlinkFacts.GPU),
                    "give every container the GPUs of all ranks of the host (docker run --gpus all) and choose with"
                            + " ep.device or CUDA_VISIBLE_DEVICES"));
        }
        if (NvlinkFacts.lists(from, NvlinkFacts.DENIED, gpu)) {
            return Optional.of(new NoPath(
                    "CUDA denies peer access between the GPUs at " + NvlinkFacts.fact(from, NvlinkFacts.GPU) + " and "
                            + gpu,
                    "see nvidia-smi topo -p2p rw; with NVSwitch start the fabric manager, with PCIe turn off ACS and"
                            + " the IOMMU for these GPUs, or let their bytes take a NIC or host memory"));
        }
        return Optional.empty();
    }

    private static Optional<NoPath> processes(RankProfile from, RankProfile to) {
        if (NvlinkFacts.sameProcess(from, to)) {
            return Optional.empty();
        }
        if (!NvlinkFacts.same(from, to, NvlinkFacts.PIDS)) {
            return Optional.of(new NoPath(
                    "the ranks are in different PID namespaces, across which CUDA opens no memory of another process",
                    "run the ranks of a host in one container, or their containers with --pid=host --ipc=host"));
        }
        if (!NvlinkFacts.same(from, to, NvlinkFacts.USER)) {
            return Optional.of(new NoPath(
                    "the ranks run as different users, and CUDA opens memory of processes of the same user alone",
                    "run all ranks of a machine as the same user"));
        }
        for (RankProfile rank : List.of(from, to)) {
            if (!NvlinkFacts.fact(rank, NvlinkFacts.INTERPROCESS).equals(NvlinkFacts.YES)) {
                return Optional.of(new NoPath(
                        "memory of the GPU at " + NvlinkFacts.fact(rank, NvlinkFacts.GPU)
                                + " cannot be shared between processes",
                        "run the ranks as threads of one process"));
            }
        }
        return Optional.empty();
    }

    /** The way, when there is one; whether it may be used is another question. */
    static Optional<GpuPath> path(RankProfile from, RankProfile to) {
        if (!from.hostId().equals(to.hostId())) {
            return GpuPaths.between(from, to);
        }
        String mine = NvlinkFacts.fact(from, NvlinkFacts.GPU);
        String theirs = NvlinkFacts.fact(to, NvlinkFacts.GPU);
        if (mine.equals(theirs)) {
            return Optional.of(nvlink(from, PathType.LOC));
        }
        // Each rank numbers the GPUs that it sees, so the peer's own number may mean another one here.
        int index = NvlinkFacts.index(from, theirs).orElse(-1);
        Optional<GpuPath> known =
                index < 0 ? Optional.empty() : GpuPaths.between(from, to.withLocality(at(to.locality(), index)));
        boolean atomics = NvlinkFacts.lists(from, NvlinkFacts.ATOMICS, theirs);
        return known.isPresent() || !atomics ? known : Optional.of(nvlink(from, PathType.NVL));
    }

    private static Locality at(Locality locality, int index) {
        return new Locality(
                index,
                locality.vendor(),
                locality.architecture(),
                locality.numa(),
                locality.gpus(),
                locality.peers(),
                locality.nics(),
                locality.processors());
    }

    private static GpuPath nvlink(RankProfile from, PathType distance) {
        String architecture = from.locality().architecture();
        double bandwidth = GpuPaths.nvlink(
                architecture.isEmpty() ? NvlinkFacts.fact(from, NvlinkFacts.ARCHITECTURE) : architecture);
        return new GpuPath(LinkType.NVLINK, distance, bandwidth, true);
    }
}
