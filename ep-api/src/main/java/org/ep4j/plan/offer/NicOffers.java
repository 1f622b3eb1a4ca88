package org.ep4j.plan.offer;

import java.util.Optional;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;

/** Offers over NICs that can speak to each other, for backends to answer with. */
public final class NicOffers {
    private NicOffers() {}

    /**
     * From the NICs of one rank to those of another; staged where one of them cannot reach its device's memory.
     *
     * <p>On one host the NICs would carry what goes to all peers there, which share them; links between GPUs of the host are
     * compared with the part of one peer.
     *
     * @param from the writing rank, with the NICs that the backend can use there
     * @param to its peer
     * @param kind who posts
     * @param micros latency without a detour
     */
    public static Offer between(Side from, Side to, PathKind kind, double micros) {
        if (from.nics().isEmpty() || to.nics().isEmpty()) {
            return new NoPath(
                    "one of them has no NIC of this backend with a port that is up",
                    "bring a port up, or see its probe");
        }
        NicPaths out = from.nics().get();
        NicPaths in = to.nics().get();
        if (!out.meets(in)) {
            return new NoPath(
                    "the ports of one are InfiniBand, those of the other Ethernet",
                    "use ports of one kind on both sides");
        }
        double rate = Math.min(out.gigabytesPerSecond(), in.gigabytesPerSecond());
        boolean sameHost = from.rank().hostId().equals(to.rank().hostId());
        int sharers = sameHost ? Math.max(1, from.rank().locality().gpus() - 1) : 1;
        PathOffer offer = new PathOffer(kind, rate, micros, out.names()).withSharers(sharers);
        return out.direct() && in.direct() ? offer : Staging.through(offer);
    }

    /**
     * One end.
     *
     * @param rank who
     * @param nics NICs that the backend can use there; empty when there is none
     */
    public record Side(RankProfile rank, Optional<NicPaths> nics) {}
}
