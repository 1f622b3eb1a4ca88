package org.ep4j.topology;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apiguardian.api.API;

/** One NIC of a machine as a GPU (or the host device) can use it. Immutable. */
public sealed interface NicReach {
    /** Link layer below verbs. Constants may be added: keep a {@code default} where you switch over them. */
    enum LinkLayer {
        /** InfiniBand. */
        INFINIBAND,
        /** Ethernet: RoCE or iWARP. */
        ETHERNET,
        /** Neither, as EFA reports, or not known. */
        UNSPECIFIED
    }

    /**
     * Why a process cannot send from a port of a NIC; in messages, the text follows the name of the port. Constants may be added:
     * keep a {@code default} where you switch over them.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    enum PortObstacle {
        /** The link is down. */
        DOWN("down"),
        /** Its network interface is in another network namespace, as in containers that see all devices of their host. */
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

    /**
     * Starts a description of a NIC on a card of its own.
     *
     * @param name name of the NIC
     * @param family of the NIC
     * @param distance from the device
     */
    static Builder builder(String name, NicFamily family, Distance distance) {
        return new Builder(name, family, distance);
    }

    /** Returns a builder that starts with these properties. */
    default Builder toBuilder() {
        Builder builder = new Builder(name(), family(), distance());
        builder.card = card();
        builder.function = function();
        builder.gpuDirect = gpuDirect();
        builder.ports = ports();
        builder.obstacles = obstacles();
        return builder;
    }

    /** Name of the NIC. */
    String name();

    /** Family of the NIC. */
    NicFamily family();

    /** Name of the physical card: equal for NICs of one card. */
    String card();

    /** First of the NICs that send through the same physical ports, as virtual functions do; its own name where there is none. */
    String function();

    /** Distance from the device. */
    Distance distance();

    /** True if it can access memory of the GPU directly; empty when unknown, and for the host device. */
    Optional<Boolean> gpuDirect();

    /**
     * Ports from which the process can send, as far as is known; port 1 of unknown rate where the source of the topology
     * lists none.
     */
    List<Port> ports();

    /** Obstacles for the other ports, from which the process cannot send, by port number, ascending. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    Map<Integer, PortObstacle> obstacles();

    /** Collects the properties of a description. For one thread. */
    final class Builder {
        private final String name;
        private final NicFamily family;
        private final Distance distance;
        private String card;
        private String function;
        private Optional<Boolean> gpuDirect = Optional.empty();
        private List<Port> ports = List.of();
        private Map<Integer, PortObstacle> obstacles = Map.of();

        private Builder(String name, NicFamily family, Distance distance) {
            this.name = name;
            this.family = family;
            this.distance = distance;
            this.card = name;
            this.function = name;
        }

        /** Sets the name of the physical card; without this call, the name of the NIC. */
        public Builder card(String sameCard) {
            this.card = sameCard;
            return this;
        }

        /** Sets the first of the NICs that send through the same physical ports; without this call, the NIC itself. */
        public Builder function(String first) {
            this.function = first;
            return this;
        }

        /** Sets whether it can access memory of the GPU directly; without this call, that is unknown. */
        public Builder gpuDirect(boolean direct) {
            this.gpuDirect = Optional.of(direct);
            return this;
        }

        /** Sets the ports from which processes can send; without this call, there are none. */
        public Builder ports(List<Port> usable) {
            this.ports = List.copyOf(usable);
            return this;
        }

        /** Sets the obstacles for the other ports, by port number; without this call, it is empty. */
        @API(status = API.Status.EXPERIMENTAL, since = "0.1")
        public Builder obstacles(Map<Integer, PortObstacle> byPort) {
            this.obstacles = Collections.unmodifiableMap(new TreeMap<>(byPort));
            return this;
        }

        /** Builds the description. */
        public NicReach build() {
            return new NicReachValue(name, family, card, function, distance, gpuDirect, ports, obstacles);
        }
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
    record Port(int number, LinkLayer linkLayer, double gigabitsPerSecond, String network) {
        /** A port of an unknown network. */
        public Port(int number, LinkLayer linkLayer, double gigabitsPerSecond) {
            this(number, linkLayer, gigabitsPerSecond, "");
        }
    }
}

record NicReachValue(
        String name,
        NicFamily family,
        String card,
        String function,
        Distance distance,
        Optional<Boolean> gpuDirect,
        List<Port> ports,
        Map<Integer, PortObstacle> obstacles)
        implements NicReach {
    @Override
    public String toString() {
        return name + " (" + family + ", card " + card + ", function " + function + "), " + distance + ", GPU direct "
                + gpuDirect.map(Object::toString).orElse("unknown") + ", ports " + ports
                + (obstacles.isEmpty() ? "" : ", not usable " + obstacles);
    }
}
