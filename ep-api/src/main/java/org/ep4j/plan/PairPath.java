package org.ep4j.plan;

import java.util.List;
import org.ep4j.spi.PathOffer;

/**
 * How one rank reaches another.
 *
 * @param from rank that writes
 * @param to rank that is written to
 * @param backend id of the backend that moves the bytes; {@code local} for a rank and itself
 * @param offer what that backend promised
 * @param rejected every other backend with the reason why it was not taken, as {@code id: reason}
 * @param nics ports of {@code from} that it uses, as {@code name:port}; empty where no NIC is in the way
 * @param lanes independent ordered channels between the two; 1 where no NIC is in the way
 */
public record PairPath(
        int from, int to, String backend, PathOffer offer, List<String> rejected, List<String> nics, int lanes) {
    /** A path that uses every port of its offer, with one lane for each. */
    public PairPath(int from, int to, String backend, PathOffer offer, List<String> rejected) {
        this(
                from,
                to,
                backend,
                offer,
                rejected,
                offer.nics(),
                Math.max(1, offer.nics().size()));
    }

    /** Copies the lists. Reasons may be rendered only when they are read. */
    public PairPath {
        rejected = rejected instanceof RejectionTexts ? rejected : List.copyOf(rejected);
        nics = List.copyOf(nics);
    }
}
