package org.ep4j.cli.plan;

import java.util.List;
import java.util.Optional;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.NicOffers;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.plan.offer.Staging;
import org.ep4j.spi.Check;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;

/**
 * {@code efa}: libfabric. Its efa provider on EFA, cxi on Slingshot, and tcp anywhere else: that one works, staged through
 * host memory, where nothing better does.
 */
final class LibfabricRule implements BackendRule {
    @Override
    public String id() {
        return "efa";
    }

    @Override
    public ProbeReport describe(DescribeRequest request) {
        for (NicFamily family : List.of(NicFamily.EFA, NicFamily.CXI)) {
            Optional<NicPaths> nics = nics(request.locality(), family);
            if (nics.isPresent()) {
                return new Requirements()
                        .add(Check.pass(Requirements.NIC, NicTexts.nearest(nics.get())))
                        .add(
                                nics.get().direct()
                                        ? Check.pass(Requirements.DIRECT, "it reaches the memory of the device")
                                        : Check.warn(
                                                Requirements.DIRECT,
                                                NicTexts.tooFar(nics.get()) + ": bytes go through host memory",
                                                "see that dma-buf is there; in a virtual machine, that the provider's"
                                                        + " topology shows the PCIe switches"))
                        .report();
            }
        }
        return new Requirements()
                .add(Check.warn(
                        Requirements.NIC,
                        "there is neither EFA nor Slingshot here: libfabric's tcp provider, for correctness, not for speed",
                        "use nvshmem-ibgda or ibrc-multiqp where there is an RDMA NIC"))
                .report();
    }

    @Override
    public Offer offer(RankProfile from, RankProfile to) {
        Optional<Offer> fabric = fabric(from, to, NicFamily.EFA, Estimates.EFA_MICROS)
                .or(() -> fabric(from, to, NicFamily.CXI, Estimates.NETWORK_MICROS + 2 * Estimates.PCI_MICROS));
        return fabric.orElseGet(() -> sockets(from, to));
    }

    private static Optional<Offer> fabric(RankProfile from, RankProfile to, NicFamily family, double micros) {
        Optional<NicPaths> a = nics(from.locality(), family);
        Optional<NicPaths> b = nics(to.locality(), family);
        return a.isPresent() && b.isPresent()
                ? Optional.of(NicOffers.between(
                        new NicOffers.Side(from, a), new NicOffers.Side(to, b), PathKind.HOST_POSTED, micros))
                : Optional.empty();
    }

    private static Offer sockets(RankProfile from, RankProfile to) {
        Optional<NicPaths> nics = nics(from.locality(), NicFamily.ETHERNET);
        double rate = Math.min(rate(nics), rate(nics(to.locality(), NicFamily.ETHERNET)));
        PathOffer offer = new PathOffer(
                PathKind.HOST_POSTED,
                rate,
                Estimates.SOCKET_MICROS,
                nics.map(NicPaths::names).orElse(List.of()));
        boolean gpus = from.locality().gpu() >= 0 || to.locality().gpu() >= 0;
        return gpus ? Staging.through(offer) : offer;
    }

    private static double rate(Optional<NicPaths> nics) {
        return Math.min(
                Estimates.SOCKET_GIGABYTES,
                nics.map(NicPaths::gigabytesPerSecond).orElse(Estimates.SOCKET_GIGABYTES));
    }

    private static Optional<NicPaths> nics(Locality locality, NicFamily family) {
        return NicPaths.of(locality, nic -> nic.family() == family);
    }
}
