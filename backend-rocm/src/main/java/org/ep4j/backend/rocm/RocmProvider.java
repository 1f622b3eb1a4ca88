package org.ep4j.backend.rocm;

import java.util.Optional;
import org.ep4j.gpu.driver.MappedGpuProvider;
import org.ep4j.gpu.driver.PeerFacts;
import org.ep4j.plan.offer.Estimates;
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
 * Memory of AMD GPUs of one host mapped into each other, as backend {@value #ID}. Between processes it needs one user, one PID
 * namespace, and every GPU of the group visible to every rank. A partition of a GPU counts as a GPU. Ranks may close, and
 * die, in any order.
 *
 * <p>GPUs reach each other by xGMI, or by PCIe at any distance, as RCCL does.
 */
public final class RocmProvider extends MappedGpuProvider {
    /** Name of the backend. */
    public static final String ID = "rocm";

    /** Remedy where HIP denies peer access. */
    static final String PEER_ACCESS =
            "see rocm-smi --showtopoaccess; with PCIe the BIOS must give the GPUs large BARs, and the kernel"
                    + " needs CONFIG_HSA_AMD_P2P";

    /** For {@link java.util.ServiceLoader}; does nothing. */
    public RocmProvider() {
        super(
                RocmFacts.ALL,
                GpuVendor.AMD,
                RocmProbe.DEVICE,
                "use ipc-nvlink for NVIDIA GPUs and host-shm for the host device",
                "make /sys/class/kfd readable to the process; to plan from a file, add the links to it, or give"
                        + " --gpu-links all");
    }

    @Override
    public ProbeReport probe(ProbeRequest request) {
        return RocmProbe.live(this).probe(request.device());
    }

    @Override
    protected Optional<Offer> acrossHosts(RankProfile from, RankProfile to) {
        return Optional.of(Offer.none(
                "the GPUs are on different hosts, and xGMI connects only GPUs of one host", "add a NIC backend"));
    }

    @Override
    protected Offer hidden(String mine, String theirs) {
        return Offer.none(
                "the GPU at " + theirs + " is hidden from the rank with the GPU at " + mine
                        + ", and HIP can map only memory of visible GPUs",
                "give every rank all GPUs of the group (--device /dev/kfd --device /dev/dri; leave ROCR_VISIBLE_DEVICES"
                        + " and HIP_VISIBLE_DEVICES unset) and choose the GPU of each rank with ep.device");
    }

    @Override
    protected Offer denied(String mine, String theirs) {
        return Offer.none(
                "HIP denies peer access between the GPUs at " + mine + " and " + theirs,
                PEER_ACCESS + "; or let a backend for NICs or host memory connect them");
    }

    @Override
    protected Optional<GpuPath> path(RankProfile from, RankProfile to) {
        double link = LinkBandwidths.xgmi(architecture(from));
        String theirs = RocmFacts.ALL.fact(to, PeerFacts.GPU);
        if (theirs.equals(RocmFacts.ALL.fact(from, PeerFacts.GPU))) {
            return Optional.of(new GpuPath(LinkType.XGMI, PathType.LOC, link, true));
        }
        Optional<GpuPath> reported = RocmFacts.hops(from, theirs)
                .map(hops -> new GpuPath(LinkType.XGMI, PathType.NVL, link / hops, hops > 1));
        Optional<GpuPath> pci = RocmFacts.ALL.lists(from, RocmFacts.PCI, theirs)
                ? Optional.of(new GpuPath(LinkType.PCI, PathType.SYS, Estimates.PCI_GIGABYTES, true))
                : Optional.empty();
        // The topology knows of parallel links, which HIP does not; HIP knows of links that /sys may hide.
        Optional<GpuPath> described = RocmFacts.ALL.described(from, to);
        return described
                .filter(GpuPath::gpuLinks)
                .or(() -> reported)
                .or(() -> described)
                .or(() -> pci);
    }

    private static String architecture(RankProfile rank) {
        String described = rank.locality().architecture();
        return described.isEmpty() ? RocmFacts.ALL.fact(rank, PeerFacts.ARCHITECTURE) : described;
    }
}
