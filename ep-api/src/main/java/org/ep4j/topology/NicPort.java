package org.ep4j.topology;

import java.util.List;

/**
 * A port of a NIC.
 *
 * @param number from 1
 * @param state whether it carries traffic
 * @param linkLayer what is below verbs
 * @param gigabitsPerSecond rate of the link; 0 when unknown
 * @param activeMtu bytes; 0 when unknown
 * @param lid local id in an InfiniBand subnet; 0 when there is none
 * @param netdev network interface of the port; empty when unknown or none
 * @param gids table of global ids; only entries that are in use
 * @param network what it reaches without a router: the subnet of its addresses, as {@code 10.1.0.0/24}, or the subnet prefix
 *     of InfiniBand; empty when unknown, and when routers take it further
 */
public record NicPort(
        int number,
        State state,
        LinkLayer linkLayer,
        double gigabitsPerSecond,
        int activeMtu,
        int lid,
        String netdev,
        List<Gid> gids,
        String network) {
    /** Whether a port carries traffic. */
    public enum State {
        /** It does. */
        ACTIVE,
        /** It does not. */
        DOWN,
        /** The source does not say. */
        UNKNOWN
    }

    /** What is below verbs. */
    public enum LinkLayer {
        /** InfiniBand. */
        INFINIBAND,
        /** Ethernet: RoCE or iWARP. */
        ETHERNET,
        /** Neither, as EFA reports, or not known. */
        UNSPECIFIED
    }

    /** Copies the list. */
    public NicPort {
        gids = List.copyOf(gids);
    }

    /** A port of an unknown network. */
    public NicPort(
            int number,
            State state,
            LinkLayer linkLayer,
            double gigabitsPerSecond,
            int activeMtu,
            int lid,
            String netdev,
            List<Gid> gids) {
        this(number, state, linkLayer, gigabitsPerSecond, activeMtu, lid, netdev, gids, "");
    }

    /** A port of which only number and rate are known. */
    public static NicPort of(int number, double gigabitsPerSecond) {
        return new NicPort(number, State.UNKNOWN, LinkLayer.UNSPECIFIED, gigabitsPerSecond, 0, 0, "", List.of());
    }
}
