package org.ep4j.topology;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * How a GPU (or the host device) can use one NIC of its machine.
 *
 * @param name name of the NIC
 * @param family what it is
 * @param card equal for NICs of one physical card
 * @param function equal for NICs that send through the same physical ports, as virtual functions do: the first of them
 * @param distance how near it is
 * @param gpuDirect whether it can access memory of the GPU directly; empty when unknown, and for the host device
 * @param ports ports from which the process can send, as far as is known; port 1 of unknown rate where the source of
 *     the topology lists none
 * @param obstacles why the process cannot send from the other ports, by port number
 */
public record NicReach(
        String name,
        NicFamily family,
        String card,
        String function,
        Distance distance,
        Optional<Boolean> gpuDirect,
        List<Port> ports,
        Map<Integer, PortObstacle> obstacles) {
    /** Link layer below verbs. */
    public enum LinkLayer {
        /** InfiniBand. */
        INFINIBAND,
        /** Ethernet: RoCE or iWARP. */
        ETHERNET,
        /** Neither, as EFA reports, or not known. */
        UNSPECIFIED
    }

    /** Why a process cannot send from a port of a NIC; in messages, the text follows the name of the port. */
    public enum PortObstacle {
        /** The link is down. */
        DOWN("down"),
        /** What its GIDs stand for is in another network namespace, as in containers that see all devices of their host. */
        OTHER_NAMESPACE("network interface in another network namespace"),
        /** Its table of GIDs is empty, or the entry that a setting names is. */
        NO_GID("no GID to send from"),
        /** Connections from link-local GIDs fail or time out: they are made from the MAC address, and are not routed. */
        LINK_LOCAL("only link-local GIDs, because the network interface has no address"),
        /** The output of {@code ibv_devinfo}, which lists every device that a process can open, lacks the device. */
        NOT_LISTED("ibv_devinfo does not list the device");

        private final String text;

        PortObstacle(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** Copies the lists. */
    public NicReach {
        ports = List.copyOf(ports);
        obstacles = Collections.unmodifiableMap(new TreeMap<>(obstacles));
    }

    /** Creates the way to a NIC with ports of its own; processes can send from all of them. */
    public NicReach(
            String name,
            NicFamily family,
            String card,
            Distance distance,
            Optional<Boolean> gpuDirect,
            List<Port> ports) {
        this(name, family, card, name, distance, gpuDirect, ports, Map.of());
    }

    /** Returns a copy with fewer ports. */
    public NicReach withPorts(List<Port> fewer, Map<Integer, PortObstacle> fewerObstacles) {
        return new NicReach(name, family, card, function, distance, gpuDirect, fewer, fewerObstacles);
    }

    /**
     * A NIC port that processes can send from.
     *
     * @param number from 1
     * @param linkLayer what is below verbs
     * @param gigabitsPerSecond rate; 0 when unknown
     * @param network what it reaches without a router: the subnet of its addresses, as {@code 10.1.0.0/24}, or the subnet
     *     prefix of InfiniBand; empty when unknown, and when routers take it further
     */
    public record Port(int number, LinkLayer linkLayer, double gigabitsPerSecond, String network) {
        /** A port of an unknown network. */
        public Port(int number, LinkLayer linkLayer, double gigabitsPerSecond) {
            this(number, linkLayer, gigabitsPerSecond, "");
        }
    }
}
