package org.ep4j.backend.ibrc;

import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.plan.offer.NicOffers;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.plan.offer.PerRank;
import org.ep4j.spi.Check;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;

/**
 * How two ranks are connected: by any verbs NIC that has reliable connections. RDMA NICs of an unknown kind, as templates of
 * clouds hold them, are taken for such. RoCE in software serves where there is no other; iWARP, in software or not, connects
 * by other means.
 */
final class IbrcOffer {
    /**
     * Fact: the ports of devices that verbs opened, which are up and have a GID to send from, as {@code mlx5_0:1}, separated by
     * commas. A description has none, and stands for all.
     */
    static final String PORTS = "ports";

    private static final Set<NicFamily> HARDWARE =
            EnumSet.of(NicFamily.MLX5, NicFamily.BNXT, NicFamily.IONIC, NicFamily.IRDMA);

    private final PerRank<Optional<NicPaths>> nics = new PerRank<>(IbrcOffer::nics);

    IbrcOffer() {}

    static ProbeReport describe(RankProfile rank) {
        Optional<NicPaths> nics = nics(rank.device(), rank.locality(), nic -> true);
        if (nics.isEmpty()) {
            return ProbeReport.builder().check(noNic(rank.locality())).build();
        }
        // What probe refuses is left to probe: a description says which way bytes go, not what this version can do.
        return ProbeReport.builder()
                .check(Check.pass(IbrcProbe.DEVICE, "device " + rank.device().type()))
                .check(nic(rank.device(), rank.locality(), nics.get()))
                .check(direct(nics.get()))
                .build();
    }

    static Check noNic(Locality locality) {
        if (locality.nics().stream().noneMatch(nic -> nic.family().rdma())) {
            return Check.notApplicable(
                    IbrcProbe.NIC,
                    "there is no NIC with RDMA; NICs here: " + families(locality),
                    "use the backend efa, which also runs over TCP");
        }
        return Check.fail(
                IbrcProbe.NIC,
                "there is no NIC with reliable connections (mlx5, bnxt, ionic, irdma, rxe) and a port that is up; NICs here: "
                        + families(locality)
                        + locality.obstaclesSuffix(),
                "bring a port of such a NIC up; or use the backend efa, which runs over EFA, Slingshot and TCP");
    }

    static Check forbidden(NicPaths nics, NicChoice choice) {
        return Check.fail(
                IbrcProbe.NIC,
                "the settings exclude all usable ports (" + String.join(", ", nics.names()) + "): " + choice.settings(),
                "change the settings, or use another backend");
    }

    static Check nic(Device device, Locality locality, NicPaths nics) {
        boolean unknown = nics.nearest().nic().family() == NicFamily.OTHER_RDMA && device.isGpu();
        return unknown
                ? Check.warn(
                        IbrcProbe.NIC,
                        nearest(nics)
                                + "; this is a NIC of unknown family, so the plan has no default limits for writes in"
                                + " flight on this NIC",
                        "use a topology description that has PCI ids or driver names, or plan on the machine itself")
                : Check.pass(IbrcProbe.NIC, nearest(nics));
    }

    private static Check direct(NicPaths nics) {
        return nics.direct()
                ? Check.pass(IbrcProbe.DIRECT, "the nearest NIC reaches the memory of the device")
                : Check.warn(
                        IbrcProbe.DIRECT,
                        tooFar(nics) + "; so bytes go through host memory",
                        "put GPU and NIC below one PCIe switch, and check that dma-buf or peer memory is available");
    }

    Offer between(RankProfile from, RankProfile to) {
        // A command of a GPU and the doorbell cross PCIe; host memory needs the doorbell alone.
        int crossings = from.device().isGpu() ? 2 : 1;
        Optional<NicPaths> mine = nics.of(from);
        Offer offer = NicOffers.between(
                new NicOffers.Side(from, mine),
                new NicOffers.Side(to, nics.of(to)),
                EpPath.Kind.HOST_POSTED,
                Estimates.NETWORK_MICROS + crossings * Estimates.PCI_MICROS);
        return offer.isPath() && mine.isPresent()
                ? offer.toBuilder()
                        .flow(FlowLimits.of(mine.get().nearest().nic().family())
                                .with(from.settings())
                                .text())
                        .build()
                : offer;
    }

    private static Optional<NicPaths> nics(RankProfile rank) {
        String ports = rank.facts(IbrcProvider.ID).get(PORTS);
        if (ports == null) {
            return nics(rank.device(), rank.locality(), nic -> true);
        }
        return ports.isEmpty()
                ? Optional.empty()
                : nics(rank.device(), only(ports).narrow(rank.locality(), rank.device()), nic -> true);
    }

    /** As if the user had named the ports. */
    private static NicChoice only(String ports) {
        return new NicChoice("", "=" + ports, "");
    }

    /** The NICs of a rank, as far as they are {@code usable}. */
    static Optional<NicPaths> nics(Device device, Locality locality, Predicate<NicReach> usable) {
        return hardware(locality, usable)
                .or(() -> NicPaths.of(locality, nic -> nic.family() == NicFamily.OTHER_RDMA && usable.test(nic)))
                .or(() -> NicPaths.of(locality, nic -> nic.family() == NicFamily.RXE && usable.test(nic)));
    }

    private static Optional<NicPaths> hardware(Locality locality, Predicate<NicReach> usable) {
        return NicPaths.of(locality, nic -> HARDWARE.contains(nic.family()) && usable.test(nic));
    }

    private static String families(Locality locality) {
        String found = locality.nics().stream()
                .map(nic -> nic.family().displayName())
                .distinct()
                .sorted()
                .collect(Collectors.joining(", "));
        return found.isEmpty() ? "none" : found;
    }

    private static String nearest(NicPaths nics) {
        return "the path to " + nics.nearest().name() + " has type "
                + nics.nearest().nic().distance().type();
    }

    private static String tooFar(NicPaths nics) {
        boolean flag = !nics.nearest().nic().gpuDirect().orElse(true);
        return flag
                ? nearest(nics) + ", but the topology marks the GPU or the NIC as unable to do GPUDirect RDMA"
                : nearest(nics) + ", too far for GPUDirect RDMA, which needs path type " + PathType.P2C
                        + " or a nearer one";
    }
}
