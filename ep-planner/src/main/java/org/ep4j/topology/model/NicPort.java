package org.ep4j.topology.model;

import java.util.List;
import java.util.Optional;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.NicReach.PortObstacle;

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
 * @param gidsRead whether the source shows that table, so that no entries mean an empty one
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
        boolean gidsRead,
        String network) {
    /** State of a port. */
    public enum State {
        /** It does. */
        ACTIVE,
        /** It does not. */
        DOWN,
        /** The source does not say. */
        UNKNOWN
    }

    public NicPort {
        gids = List.copyOf(gids);
    }

    /** Creates a port on an unknown network; the GID table of the port may have more entries than {@code gids}. */
    public NicPort(
            int number,
            State state,
            LinkLayer linkLayer,
            double gigabitsPerSecond,
            int activeMtu,
            int lid,
            String netdev,
            List<Gid> gids) {
        this(number, state, linkLayer, gigabitsPerSecond, activeMtu, lid, netdev, gids, false, "");
    }

    /**
     * Obstacle to sending from this port, judged by the port alone; {@link Topology#obstacle} also considers the other
     * ports of the host. A negative {@code gidIndex} stands for the entry that {@link GidChoice} takes.
     */
    Optional<PortObstacle> obstacle(int gidIndex) {
        if (state == State.DOWN) {
            return Optional.of(PortObstacle.DOWN);
        }
        if (linkLayer == LinkLayer.UNSPECIFIED) {
            // EFA sends from what its provider chooses.
            return Optional.empty();
        }
        return switch (GidChoice.of(this, gidIndex).verdict()) {
            case FINE, IPV6, ROCE_V1, UNKNOWN -> Optional.empty();
            case FOREIGN -> Optional.of(PortObstacle.OTHER_NAMESPACE);
            // A part of a table says nothing about the rest.
            case EMPTY -> gidsRead ? Optional.of(PortObstacle.NO_GID) : Optional.empty();
            case LINK_LOCAL -> gidsRead ? Optional.of(PortObstacle.LINK_LOCAL) : Optional.empty();
        };
    }

    /**
     * Network that this port reaches without a router. For an Ethernet port whose GID table entry {@code gidIndex} is
     * known, it is the network of this entry; otherwise it is {@link #network()}.
     */
    public String network(int gidIndex) {
        return gids.stream()
                .filter(gid -> gidIndex >= 0 && gid.index() == gidIndex && linkLayer == LinkLayer.ETHERNET)
                .map(Gid::network)
                .findFirst()
                .orElse(network);
    }

    /** A port of which only number and rate are known. */
    public static NicPort of(int number, double gigabitsPerSecond) {
        return new NicPort(number, State.UNKNOWN, LinkLayer.UNSPECIFIED, gigabitsPerSecond, 0, 0, "", List.of());
    }

    /** Returns a copy with another rate. */
    public NicPort withRate(double gigabits) {
        return new NicPort(number, state, linkLayer, gigabits, activeMtu, lid, netdev, gids, gidsRead, network);
    }

    /** Returns a copy with the network interface that its packets use, and the MTU and network of that interface. */
    public NicPort on(String interfaceName, int mtu, String reaches) {
        return new NicPort(
                number, state, linkLayer, gigabitsPerSecond, mtu, lid, interfaceName, gids, gidsRead, reaches);
    }
}
