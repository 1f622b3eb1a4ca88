package org.ep4j.backend.nvshmem;

import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.NicOffers;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.plan.offer.PerRank;
import org.ep4j.spi.Check;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.LinkBandwidths;

/**
 * Offers of paths between two ranks: by mlx5 NICs, to which alone NVSHMEM lets GPUs post, and on one machine by NVLink or PCIe,
 * which takes a copy more than mapped memory.
 */
final class NvshmemOffer {
    /** Share of the bandwidth of mapped memory: rows go through a window. An assumption. */
    private static final double WINDOW = 0.8;

    /** Memory that another backend maps needs no second library. */
    private static final double MAPPING = 0.99;

    private final PerRank<Optional<NicPaths>> nics = new PerRank<>(rank -> nics(rank.locality()));

    NvshmemOffer() {}

    static ProbeReport describe(RankProfile rank) {
        Optional<NicPaths> nics = nics(rank.locality());
        Check nic = nics.map(found -> Check.pass(
                        NvshmemProbe.NIC, "mlx5 NIC " + found.nearest().name()))
                .orElseGet(() -> Check.fail(
                        NvshmemProbe.NIC,
                        "there is no mlx5 NIC with a port that is up; NICs here: " + families(rank.locality())
                                + rank.locality().obstaclesSuffix(),
                        "use ibrc-multiqp (bnxt, ionic, irdma) or efa; if there is a ConnectX, bring its port up"));
        ProbeReport.Builder report =
                ProbeReport.builder().check(device(rank.device())).check(nic);
        nics.ifPresent(found -> report.check(direct(found)));
        return report.build();
    }

    static Check device(Device device) {
        return device.type().equals("cuda")
                ? Check.pass(NvshmemProbe.DEVICE, "device cuda")
                : Check.notApplicable(
                        NvshmemProbe.DEVICE,
                        "device " + device.type() + " is not an NVIDIA GPU",
                        "use ibrc-multiqp or efa for other devices");
    }

    /** Checks whether the nearest NIC reaches the memory of the GPU. */
    static Check direct(NicPaths nics) {
        String nearest = "the path to " + nics.nearest().name() + " has type "
                + nics.nearest().nic().distance().type();
        if (nics.direct()) {
            return Check.pass(NvshmemProbe.DIRECT, nearest);
        }
        boolean flag = !nics.nearest().nic().gpuDirect().orElse(true);
        return Check.fail(
                NvshmemProbe.DIRECT,
                flag
                        ? nearest + ", but the topology marks the GPU or the NIC as unable to do GPUDirect RDMA"
                        : nearest + ", too far for GPUDirect RDMA, which needs path type " + PathType.P2C
                                + " or a nearer one",
                "put GPU and NIC below one PCIe switch, check that dma-buf or nvidia_peermem is available, or use"
                        + " ibrc-multiqp, which stages through host memory");
    }

    Offer between(RankProfile from, RankProfile to) {
        String version = NvshmemFacts.fact(from, NvshmemFacts.VERSION);
        if (version.isEmpty()) {
            return byNic(from, to);
        }
        String theirs = NvshmemFacts.fact(to, NvshmemFacts.VERSION);
        if (!version.equals(theirs)) {
            return Offer.none(
                    "one rank has NVSHMEM " + version + ", the other " + theirs,
                    "install the same version of NVSHMEM on all machines");
        }
        if (NvshmemFacts.same(from, to, NvshmemFacts.PROCESS)) {
            return Offer.none(
                    "the ranks are threads of one process, and NVSHMEM allows one PE per process",
                    "start one process for each GPU, or use ipc-nvlink");
        }
        if (NvshmemFacts.same(from, to, NvshmemFacts.MACHINE)) {
            return onMachine(from, to);
        }
        return NvshmemFacts.fact(from, NvshmemFacts.TRANSPORT).equals("none")
                ? Offer.none(
                        "the ranks are on different machines, and " + NvshmemKeys.TRANSPORT.name() + " is none",
                        "set " + NvshmemKeys.TRANSPORT.name() + " to auto or ibgda")
                : byNic(from, to);
    }

    private static Offer onMachine(RankProfile from, RankProfile to) {
        Optional<Offer> way = GpuPath.between(from, to).map(GpuPath::offer);
        double rate = way.map(Offer::gigabytesPerSecond)
                .orElseGet(() -> Estimates.GPU_LINK_EFFICIENCY
                        * LinkBandwidths.nvlinks(from.locality().architecture()));
        double micros = way.map(Offer::latencyMicros).orElse(Estimates.GPU_LINK_MICROS);
        boolean maps = NvshmemFacts.fact(from, NvshmemFacts.MAPS).equals("true");
        // On hosts that are made up on one machine it does what it does between hosts.
        Offer.Builder offer = maps && from.hostId().equals(to.hostId())
                ? Offer.path(EpPath.Kind.MAPPED)
                        .gigabytesPerSecond(MAPPING * rate)
                        .latencyMicros(micros)
                : Offer.path(EpPath.Kind.DEVICE_POSTED)
                        .gigabytesPerSecond(WINDOW * rate)
                        .latencyMicros(micros + Estimates.PCI_MICROS);
        return offer.sharers(way.map(Offer::sharers).orElse(1)).build();
    }

    private Offer byNic(RankProfile from, RankProfile to) {
        Optional<NicPaths> mine = nics.of(from);
        Optional<NicPaths> theirs = nics.of(to);
        if (mine.isPresent() && theirs.isPresent()) {
            if (!mine.get().direct() || !theirs.get().direct()) {
                return Offer.none(
                        "GPU-posted writes need a NIC that reaches GPU memory, but the nearest NIC of at least one of"
                                + " the two ranks cannot reach the memory of its GPU",
                        "use ibrc-multiqp, which stages through host memory");
            }
            if (mine.get().apart(theirs.get())) {
                return Offer.none(
                        "no known route joins the networks of the nearest ports of the two ranks, "
                                + String.join(", ", mine.get().networks()) + " and "
                                + String.join(", ", theirs.get().networks()),
                        "connect these networks with a router, or use ibrc-multiqp, which can use a farther port on a"
                                + " common network");
            }
        }
        // The GPU's doorbell crosses PCIe once.
        Offer offer = NicOffers.between(
                new NicOffers.Side(from, mine),
                new NicOffers.Side(to, theirs),
                EpPath.Kind.DEVICE_POSTED,
                Estimates.NETWORK_MICROS + Estimates.PCI_MICROS);
        return offer.isPath()
                ? offer.toBuilder().flow(limits().with(from.settings()).text()).build()
                : offer;
    }

    /** Returns the limits known for the only kind of NIC that it uses. */
    static FlowLimits limits() {
        return FlowLimits.of(NicFamily.MLX5);
    }

    static Optional<NicPaths> nics(Locality locality) {
        return NicPaths.of(locality, nic -> nic.family() == NicFamily.MLX5);
    }

    private static String families(Locality locality) {
        String found = locality.nics().stream()
                .map(nic -> nic.family().displayName())
                .distinct()
                .sorted()
                .collect(Collectors.joining(", "));
        return found.isEmpty() ? "none" : found;
    }
}
