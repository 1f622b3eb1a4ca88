package org.ep4j.backend.efa;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.plan.offer.NicOffers;
import org.ep4j.plan.offer.NicOffers.Side;
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
 * How two ranks are connected: by EFA's or Slingshot's own provider, by verbs where both were asked for it, and by TCP
 * anywhere else, which is for correctness and not for speed.
 */
final class EfaOffer {
    /** Part of an RDMA NIC's rate with a layer of messages over verbs: an assumption, below what verbs alone reach. */
    private static final double LAYERED = 0.8;

    /** By family of NICs. */
    private final PerRank<Map<NicFamily, Optional<NicPaths>>> described = new PerRank<>(rank -> Map.of(
            NicFamily.EFA, nics(rank.locality(), NicFamily.EFA),
            NicFamily.CXI, nics(rank.locality(), NicFamily.CXI),
            NicFamily.ETHERNET, nics(rank.locality(), NicFamily.ETHERNET)));

    /** By provider of libfabric. */
    private final PerRank<Map<String, Optional<NicPaths>>> probed = new PerRank<>(EfaOffer::probed);

    EfaOffer() {}

    static ProbeReport describe(RankProfile rank, EpConfig config) {
        // What probe refuses is left to probe: a description says which way bytes go, not what this version can do.
        Check planned = Check.pass(EfaProbe.DEVICE, "device " + rank.device().type());
        String wanted = EfaKeys.PROVIDER.get(config).strip();
        if (!wanted.equals(EfaKeys.AUTO)) {
            return named(wanted, planned, rank.locality(), config);
        }
        for (NicFamily family : List.of(NicFamily.EFA, NicFamily.CXI)) {
            Optional<NicPaths> nics = nics(rank.locality(), family);
            if (nics.isPresent()) {
                return ProbeReport.builder()
                        .check(planned)
                        .check(Check.pass(EfaProbe.NIC, nearest(nics.get())))
                        .check(direct(nics.get()))
                        .build();
            }
        }
        ProbeReport.Builder report = ProbeReport.builder().check(planned).check(sockets());
        EfaFacts.of(Providers.TCP, interfaces(rank.locality(), config)).values().forEach(report::fact);
        return report.build();
    }

    /** Interfaces that the tcp provider would use, as a probe chooses them. */
    private static List<String> interfaces(Locality locality, EpConfig config) {
        List<String> names = locality.nics().stream()
                .filter(nic -> serves(Providers.TCP, nic))
                .map(NicReach::name)
                .toList();
        return Providers.interfaces(config, names);
    }

    /** What a probe would find of the provider that a setting names. */
    private static ProbeReport named(String wanted, Check planned, Locality locality, EpConfig config) {
        ProbeReport.Builder report = ProbeReport.builder().check(planned);
        String core = FabricInfo.core(wanted);
        if (Providers.sockets(wanted)) {
            Check slow = Check.warn(
                    EfaProbe.NIC,
                    EfaKeys.PROVIDER.name() + " is " + wanted + ", which sends over sockets and is slow",
                    "set " + EfaKeys.PROVIDER.name() + " to auto on machines with EFA");
            EfaFacts.of(wanted, interfaces(locality, config)).values().forEach(report::fact);
            return report.check(slow).build();
        }
        Optional<NicPaths> nics = NicPaths.of(locality, nic -> serves(core, nic));
        if (nics.isEmpty() && List.of("efa", "efa-direct", "cxi", "verbs").contains(core)) {
            Check missing = Check.fail(
                    EfaProbe.PROVIDER,
                    EfaKeys.PROVIDER.name() + " is " + wanted + ", and there is no NIC of this provider",
                    "set " + EfaKeys.PROVIDER.name() + " to auto or tcp, or leave this backend out");
            return report.check(missing).build();
        }
        nics.ifPresentOrElse(
                found -> report.check(Check.pass(EfaProbe.NIC, nearest(found))).check(direct(found)),
                () -> report.check(Check.pass(EfaProbe.NIC, wanted)));
        List<String> names = nics.map(NicPaths::ports).orElse(List.of()).stream()
                .map(path -> path.nic().name())
                .distinct()
                .toList();
        EfaFacts.of(wanted, names).values().forEach(report::fact);
        return report.build();
    }

    private static boolean serves(String core, NicReach nic) {
        return !nic.ports().isEmpty()
                && switch (core) {
                    case "efa", "efa-direct" -> nic.family() == NicFamily.EFA;
                    case "cxi" -> nic.family() == NicFamily.CXI;
                    case "verbs" ->
                        nic.family().rdma() && nic.family() != NicFamily.EFA && nic.family() != NicFamily.CXI;
                    default -> Providers.sockets(core) && nic.family() == NicFamily.ETHERNET;
                };
    }

    static Check sockets() {
        return Check.warn(
                EfaProbe.NIC,
                "there is no EFA and no Slingshot NIC, so libfabric's tcp provider is used, and it is slow",
                "use nvshmem-ibgda or ibrc-multiqp where there is an RDMA NIC");
    }

    private static Check direct(NicPaths nics) {
        if (nics.direct()) {
            return Check.pass(EfaProbe.DIRECT, "the nearest NIC reaches the memory of the device");
        }
        boolean flag = !nics.nearest().nic().gpuDirect().orElse(true);
        String why = flag
                ? ", but the topology marks the GPU or the NIC as unable to do GPUDirect RDMA"
                : ", too far for GPUDirect RDMA, which needs path type " + PathType.P2C + " or a nearer one";
        return Check.warn(
                EfaProbe.DIRECT,
                nearest(nics) + why + "; so bytes go through host memory",
                "check that dma-buf is available; in a virtual machine, also that the cloud provider's topology shows the PCIe"
                        + " switches");
    }

    private static String nearest(NicPaths nics) {
        return "the path to " + nics.nearest().name() + " has type "
                + nics.nearest().nic().distance().type();
    }

    Offer between(RankProfile from, RankProfile to) {
        EfaFacts mine = EfaFacts.of(from);
        EfaFacts theirs = EfaFacts.of(to);
        if (mine.described() || theirs.described()) {
            return described(from, to);
        }
        Optional<String> provider = EfaFacts.provider(from, to);
        if (provider.isEmpty()) {
            return Offer.none(
                    "the ranks have no libfabric provider in common: the sending rank has " + providers(mine)
                            + ", the receiving rank has " + providers(theirs),
                    "install the same version of libfabric on both, or set " + EfaKeys.PROVIDER.name()
                            + " to a provider that both have");
        }
        return by(provider.get(), from, to);
    }

    private Offer by(String provider, RankProfile from, RankProfile to) {
        Side here = new Side(from, probed.of(from).getOrDefault(provider, Optional.empty()));
        Side there = new Side(to, probed.of(to).getOrDefault(provider, Optional.empty()));
        return switch (FabricInfo.core(provider)) {
            case "efa", "efa-direct" -> fabric(here, there, Estimates.EFA_MICROS);
            case "cxi" -> fabric(here, there, slingshot());
            case "verbs" -> layered(fabric(here, there, slingshot() + Estimates.NETWORK_MICROS));
            default -> Providers.sockets(provider) ? sockets(here, there) : other(from);
        };
    }

    private static Offer other(RankProfile from) {
        return Offer.path(EpPath.Kind.HOST_POSTED)
                .gigabytesPerSecond(Estimates.SOCKET_GIGABYTES)
                .latencyMicros(Estimates.SOCKET_MICROS)
                .flow(flow(from, NicFamily.ETHERNET))
                .build();
    }

    private static Map<String, Optional<NicPaths>> probed(RankProfile rank) {
        EfaFacts facts = EfaFacts.of(rank);
        return facts.providers().stream().distinct().collect(Collectors.toMap(provider -> provider, provider -> {
            Set<String> nics = Set.copyOf(facts.nics(provider));
            return NicPaths.of(rank.locality(), nic -> nics.contains(nic.name()));
        }));
    }

    private Offer described(RankProfile from, RankProfile to) {
        for (NicFamily family : List.of(NicFamily.EFA, NicFamily.CXI)) {
            Side here = described(from, family);
            Side there = described(to, family);
            if (here.nics().isPresent() && there.nics().isPresent()) {
                return fabric(here, there, family == NicFamily.EFA ? Estimates.EFA_MICROS : slingshot());
            }
        }
        return sockets(described(from, NicFamily.ETHERNET), described(to, NicFamily.ETHERNET));
    }

    private Side described(RankProfile rank, NicFamily family) {
        return new Side(rank, described.of(rank).getOrDefault(family, Optional.empty()));
    }

    private static double slingshot() {
        return Estimates.NETWORK_MICROS + 2 * Estimates.PCI_MICROS;
    }

    private static Offer fabric(Side from, Side to, double micros) {
        Offer offer = NicOffers.between(from, to, EpPath.Kind.HOST_POSTED, micros);
        return offer.isPath()
                ? offer.toBuilder()
                        .flow(flow(
                                from.rank(),
                                from.nics()
                                        .map(nics -> nics.nearest().nic().family())
                                        .orElse(NicFamily.ETHERNET)))
                        .build()
                : offer;
    }

    private static String flow(RankProfile from, NicFamily family) {
        return FlowLimits.of(family).with(from.settings()).text();
    }

    private static Offer layered(Offer offer) {
        return offer.isPath()
                ? offer.toBuilder()
                        .gigabytesPerSecond(offer.gigabytesPerSecond() * LAYERED)
                        .build()
                : offer;
    }

    private static Offer sockets(Side from, Side to) {
        double rate = Math.min(rate(from.nics()), rate(to.nics()));
        Offer offer = Offer.path(EpPath.Kind.HOST_POSTED)
                .gigabytesPerSecond(rate)
                .latencyMicros(Estimates.SOCKET_MICROS)
                .nics(from.nics().map(NicPaths::names).orElse(List.of()))
                .flow(flow(from.rank(), NicFamily.ETHERNET))
                .build();
        boolean gpus = from.rank().locality().gpu() >= 0 || to.rank().locality().gpu() >= 0;
        return gpus ? NicOffers.staged(offer) : offer;
    }

    private static double rate(Optional<NicPaths> nics) {
        return Math.min(
                Estimates.SOCKET_GIGABYTES,
                nics.map(NicPaths::gigabytesPerSecond).orElse(Estimates.SOCKET_GIGABYTES));
    }

    private static Optional<NicPaths> nics(Locality locality, NicFamily family) {
        return NicPaths.of(locality, nic -> nic.family() == family);
    }

    private static String providers(EfaFacts facts) {
        return facts.providers().stream().collect(Collectors.joining(", "));
    }
}
