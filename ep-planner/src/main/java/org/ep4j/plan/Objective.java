package org.ep4j.plan;

import java.util.Locale;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Offer;

/**
 * The message size that paths are chosen for. The cost of an offer is the time of one message: its latency, and its
 * bytes over {@link Offer#sharedGigabytesPerSecond}. Offers that take a detour through host memory are compared
 * with each other alone, and taken where there is no other: the detour costs memory and threads that no time of a
 * message shows.
 */
public enum Objective {
    /** One BF16 row of hidden size 7168. */
    BALANCED("a row", 2 * 7168),
    /** One FP8 row of hidden size 7168 with a scale of 4 bytes for every 128 elements, as decoding sends them. */
    LOW_LATENCY("an FP8 row", 7168 + 224),
    /**
     * 512 such FP8 rows: what each of 64 ranks sends to one peer when 4096 tokens go to 8 experts each. Latency counts for
     * little there, bandwidth decides.
     */
    HIGH_THROUGHPUT("a batch", 512 * (7168 + 224));

    private final String unit;
    private final double bytes;

    Objective(String unit, double bytes) {
        this.unit = unit;
        this.bytes = bytes;
    }

    /** The message, for people: {@code a row}. */
    String unit() {
        return unit;
    }

    /**
     * Estimated time in microseconds that a message of this objective's size takes over a path.
     *
     * @throws IllegalStateException when the offer is no path
     */
    public double micros(Offer offer) {
        return offer.latencyMicros() + bytes / (offer.sharedGigabytesPerSecond() * 1e3);
    }

    /** Reads {@link EpKeys#OBJECTIVE}. */
    public static Objective from(EpConfig config) {
        return valueOf(EpKeys.OBJECTIVE.get(config).toUpperCase(Locale.ROOT).replace('-', '_'));
    }
}
