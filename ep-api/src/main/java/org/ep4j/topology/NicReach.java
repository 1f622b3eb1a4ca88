package org.ep4j.topology;

import java.util.List;
import java.util.Optional;

/**
 * A NIC of the same machine, seen from one device.
 *
 * @param name name of the device
 * @param family what it is
 * @param card equal for devices of one physical card
 * @param distance how near it is
 * @param gpuDirect whether it can reach memory of the device, as far as source and distance tell
 * @param ports ports of it that are not down, without their GIDs; port 1 of unknown rate where the source lists none
 */
public record NicReach(
        String name, NicFamily family, String card, Distance distance, Optional<Boolean> gpuDirect, List<Port> ports) {
    /** Copies the list. */
    public NicReach {
        ports = List.copyOf(ports);
    }

    /**
     * A port.
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
