package org.ep4j.plan.offer;

import org.ep4j.spi.PathOffer;

/** The detour through pinned host memory that bytes of a GPU take where no NIC or peer reaches them. */
public final class Staging {
    private Staging() {}

    /**
     * Returns a copy of an offer with a detour through host memory at both ends: two more crossings of PCIe, and the
     * bandwidth of the narrowest part.
     */
    public static PathOffer through(PathOffer offer) {
        double width = Math.min(offer.gigabytesPerSecond(), Estimates.PCI_GIGABYTES);
        return offer.withEstimates(width, offer.latencyMicros() + 2 * Estimates.PCI_MICROS)
                .throughHostMemory();
    }
}
