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
 */
public record PairPath(int from, int to, String backend, PathOffer offer, List<String> rejected) {
    /** Copies the list. */
    public PairPath {
        rejected = List.copyOf(rejected);
    }
}
