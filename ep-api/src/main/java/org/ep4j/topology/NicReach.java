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
 * @param gpuDirect whether it can reach memory of the GPU or host, as far as source and distance tell
 * @param ports ports of it that the process can send from, as far as the source tells; port 1 of unknown rate where the source
 *     lists none
 * @param leftOut the others, by number
 */
public record NicReach(
        String name,
        NicFamily family,
        String card,
        String function,
        Distance distance,
        Optional<Boolean> gpuDirect,
        List<Port> ports,
        Map<Integer, PortObstacle> leftOut) {
    /** Copies the lists. */
    public NicReach {
        ports = List.copyOf(ports);
        leftOut = Collections.unmodifiableMap(new TreeMap<>(leftOut));
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
    public NicReach withPorts(List<Port> fewer, Map<Integer, PortObstacle> fewerLeftOut) {
        return new NicReach(name, family, card, function, distance, gpuDirect, fewer, fewerLeftOut);
    }

    /**
     * A NIC port that processes can send from.
     *
     * @param number from 1
     * @param linkLayer what is below verbs
     * @param gigabitsPerSecond rate; 0 when unknown
     * @param network as {@link NicPort#network()}
     */
    public record Port(int number, NicPort.LinkLayer linkLayer, double gigabitsPerSecond, String network) {
        /** A port of an unknown network. */
        public Port(int number, NicPort.LinkLayer linkLayer, double gigabitsPerSecond) {
            this(number, linkLayer, gigabitsPerSecond, "");
        }
    }
}
