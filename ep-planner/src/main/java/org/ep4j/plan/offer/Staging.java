package org.ep4j.plan.offer;

import org.ep4j.spi.Offer;

/** The detour through pinned host memory that bytes of a GPU take where no NIC or peer reaches them. */
public final class Staging {
    private Staging() {}

    /**
     * Returns a copy of the offer of a path with a detour through host memory at both ends: two more crossings of PCIe, and the
     * bandwidth of the narrowest part.
     *
     * @throws IllegalStateException when the offer is no path
     */
    public static Offer through(Offer offer) {
        double width = Math.min(offer.gigabytesPerSecond(), Estimates.PCI_GIGABYTES);
        return offer.toBuilder()
                .gigabytesPerSecond(width)
                .latencyMicros(offer.latencyMicros() + 2 * Estimates.PCI_MICROS)
                .staged(true)
                .build();
    }
}
