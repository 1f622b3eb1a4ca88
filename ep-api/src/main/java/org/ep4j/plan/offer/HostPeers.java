package org.ep4j.plan.offer;

import org.ep4j.plan.RankProfile;

/** How many peers of a rank share what its GPU has for all of them together: its NICs, its PCIe link, its ways to a switch. */
public final class HostPeers {
    private HostPeers() {}

    /** The peers on the host of {@code from}, as {@link org.ep4j.spi.PathOffer#sharers} counts them. */
    public static int of(RankProfile from, RankProfile to) {
        return from.hostId().equals(to.hostId()) ? Math.max(1, from.locality().gpus() - 1) : 1;
    }
}
