package org.ep4j.plan.offer;

import java.util.Optional;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;

/** Makes offers of paths over NICs, for {@link org.ep4j.spi.EpBackendProvider#offer}. */
public final class NicOffers {
    private NicOffers() {}

    /**
     * Offers a path from the NICs of one rank to the NICs of another. The path is staged through host memory if the
     * NICs of either rank cannot reach the memory of that rank's device.
     *
     * <p>On one host the NICs would carry what goes to all peers there, which share them; links between GPUs of the host are
     * compared with the part of one peer.
     *
     * @param from the writing rank, with the NICs that the backend can use there
     * @param to its peer
     * @param kind who posts
     * @param micros latency without a detour
     */
    public static Offer between(Side from, Side to, EpPath.Kind kind, double micros) {
        if (from.nics().isEmpty() || to.nics().isEmpty()) {
            return Offer.none(
                    "one of the two ranks has no NIC of this backend with a port that is up",
                    "bring a port up, or check the probe of this backend on that rank");
        }
        NicPaths out = from.nics().get();
        NicPaths in = to.nics().get();
        if (!out.canReach(in)) {
            return Offer.none(
                    "one of the two ranks has InfiniBand ports, the other Ethernet ports",
                    "use ports of one kind on both sides");
        }
        double rate = Math.min(out.gigabytesPerSecond(), in.gigabytesPerSecond());
        boolean sameHost = from.rank().hostId().equals(to.rank().hostId());
        int sharers = sameHost ? Math.max(1, from.rank().locality().gpus() - 1) : 1;
        Offer offer = Offer.path(kind)
                .gigabytesPerSecond(rate)
                .latencyMicros(micros)
                .nics(out.names())
                .sharers(sharers)
                .build();
        return out.direct() && in.direct() ? offer : staged(offer);
    }

    /**
     * Returns a copy of the offer of a path with a detour through host memory at both ends: two more crossings of PCIe, and the
     * bandwidth of the narrowest part.
     *
     * @throws IllegalStateException when the offer is no path
     */
    public static Offer staged(Offer offer) {
        double width = Math.min(offer.gigabytesPerSecond(), Estimates.PCI_GIGABYTES);
        return offer.toBuilder()
                .gigabytesPerSecond(width)
                .latencyMicros(offer.latencyMicros() + 2 * Estimates.PCI_MICROS)
                .staged(true)
                .build();
    }

    /**
     * One rank of a pair, with the NIC ports that it would use.
     *
     * @param rank who
     * @param nics NICs that the backend can use there; empty when there is none
     */
    public record Side(RankProfile rank, Optional<NicPaths> nics) {}
}
