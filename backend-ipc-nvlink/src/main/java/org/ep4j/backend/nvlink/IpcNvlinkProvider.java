package org.ep4j.backend.nvlink;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.gpu.driver.MappedGpuProvider;
import org.ep4j.gpu.driver.PeerFacts;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.LinkBandwidths;

/**
 * Memory of NVIDIA GPUs mapped into each other, as backend {@value #ID}. Between processes of a host it needs one user and one
 * PID namespace, and every GPU in the container of every rank; between hosts an NVLink domain with an IMEX channel. Ranks may
 * close, and die, in any order.
 *
 * <p>GPUs reach each other by NVLink on a host or in a domain of hosts, or by PCIe as far as NCCL uses it by default (one PCIe
 * tree, {@code NCCL_P2P_LEVEL=PXB}).
 */
public final class IpcNvlinkProvider extends MappedGpuProvider {
    /** Name of the backend. */
    public static final String ID = "ipc-nvlink";

    /** Remedy where CUDA denies peer access. */
    static final String PEER_ACCESS =
            "see nvidia-smi topo -p2p rw; with NVSwitch start the fabric manager, with PCIe turn off ACS and"
                    + " the IOMMU for these GPUs";

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public IpcNvlinkProvider() {
        super(
                NvlinkFacts.ALL,
                GpuVendor.NVIDIA,
                NvlinkProbe.DEVICE,
                "use rocm for AMD GPUs and host-shm for the host device",
                "install the driver's NVML (libnvidia-ml.so.1); to plan from a file, add the links to it, or give"
                        + " --gpu-links all");
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        return NvlinkProbe.live(this).probe(request.device());
    }

    @Override
    protected Offer offer(GpuPath path) {
        if (path.gpuLinks() || path.distance().compareTo(PathType.PXB) <= 0) {
            return path.offer();
        }
        return Offer.none(
                "the GPUs have no NVLink, and their PCIe path is " + path.distance()
                        + ", farther than PXB, the limit for peer-to-peer",
                "choose GPUs below one PCIe switch, or let a backend for NICs or host memory connect them");
    }

    @Override
    protected Optional<Offer> acrossHosts(RankProfile from, RankProfile to) {
        if (from.domain().isEmpty() || !from.domain().equals(to.domain())) {
            return Optional.of(Offer.none(
                    "the GPUs are on different hosts and share no NVLink domain",
                    "multi-node NVLink needs equal cluster UUID and clique id and an IMEX channel on both hosts"
                            + " (to plan as if they had these, give --domain-hosts); otherwise use a NIC backend"));
        }
        for (RankProfile rank : List.of(from, to)) {
            if (!NvlinkFacts.ALL.fact(rank, NvlinkFacts.FABRIC).equals(PeerFacts.YES)) {
                return Optional.of(Offer.none(
                        "the GPUs are in one NVLink domain, but at least one of the two ranks cannot use this"
                                + " domain: the rank's driver does not support fabric handles, or the rank has no"
                                + " IMEX channel (see EP-NVL-007)",
                        "install driver 550 or newer, which supports multi-node NVLink on Hopper or newer"
                                + " GPUs, and start IMEX"));
            }
        }
        return Optional.empty();
    }

    @Override
    protected Offer hidden(String mine, String theirs) {
        return Offer.none(
                "the GPU at " + theirs + " is not visible to the rank with the GPU at " + mine,
                "give every container the GPUs of all ranks of the host (docker run --gpus all) and choose the"
                        + " GPU of each rank with ep.device or CUDA_VISIBLE_DEVICES");
    }

    @Override
    protected Offer denied(String mine, String theirs) {
        return Offer.none(
                "CUDA denies peer access between the GPUs at " + mine + " and " + theirs,
                PEER_ACCESS + ", or let a backend for NICs or host memory connect them");
    }

    @Override
    protected Map<String, String> describedFacts() {
        return Map.of(NvlinkFacts.FABRIC, PeerFacts.YES);
    }

    @Override
    protected Optional<GpuPath> path(RankProfile from, RankProfile to) {
        if (!from.hostId().equals(to.hostId())) {
            return GpuPath.between(from, to);
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
        double bandwidth = LinkBandwidths.nvlinks(
                architecture.isEmpty() ? NvlinkFacts.ALL.fact(from, PeerFacts.ARCHITECTURE) : architecture);
        return new GpuPath(LinkType.NVLINK, distance, bandwidth, true);
    }
}
