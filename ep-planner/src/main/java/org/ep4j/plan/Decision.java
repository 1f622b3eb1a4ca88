package org.ep4j.plan;

import java.util.List;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;

/**
 * What was decided for pairs of ranks of one kind.
 *
 * @param backend id of the backend that was taken
 * @param offer what it promised
 * @param rejected the others, with reasons
 * @param lanes lanes of such a pair; 0 when they are to be computed
 */
record Decision(String backend, Offer offer, List<Rejection> rejected, int lanes) {
    /** A rank's own memory: no estimate matters, and none is compared. */
    static final Decision LOCAL = new Decision(
            Planner.LOCAL,
            Offer.path(EpPath.Kind.LOCAL)
                    .gigabytesPerSecond(1000)
                    .latencyMicros(0.1)
                    .build(),
            List.of());

    /** A decision with computed lanes. */
    Decision(String backend, Offer offer, List<Rejection> rejected) {
        this(backend, offer, rejected, 0);
    }

    Decision {
        rejected = List.copyOf(rejected);
    }

    /** True when the bytes go over NICs. */
    boolean posted() {
        return offer.kind() == EpPath.Kind.HOST_POSTED || offer.kind() == EpPath.Kind.DEVICE_POSTED;
    }

    /** The same without names of NICs, which differ between like GPUs. */
    Decision withoutNics() {
        return new Decision(backend, offer.toBuilder().nics(List.of()).build(), rejected, lanes);
    }
}
