package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.Check;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.model.GidChoice;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;

/**
 * Which ports have a GID to send from.
 *
 * @param ports those that have, as {@code mlx5_0:1}
 * @param check what is to be said of all
 */
record PortGids(List<String> ports, Check check) {
    private static final String REMEDY = "give the network interface an IPv4 address, or set "
            + EpKeys.NIC_GID_INDEX.name() + "; leave ports out with " + EpKeys.NIC_EXCLUDE.name();

    PortGids {
        ports = List.copyOf(ports);
    }

    /** Of ports by name, with the value of {@link EpKeys#NIC_GID_INDEX}. */
    static PortGids of(List<Nic> nics, List<String> names, int wanted) {
        List<String> ports = new ArrayList<>();
        List<String> fine = new ArrayList<>();
        List<String> bad = new ArrayList<>();
        for (Nic nic : nics) {
            for (NicPort port : nic.ports()) {
                String name = nic.name() + ":" + port.number();
                if (names.contains(name)) {
                    GidChoice choice = GidChoice.of(port, wanted);
                    if (works(port, wanted)) {
                        ports.add(name);
                        fine.add(name + " " + choice);
                    } else {
                        bad.add(name + " " + choice);
                    }
                }
            }
        }
        String text = String.join(", ", fine);
        if (fine.isEmpty()) {
            return new PortGids(ports, Check.fail(IbrcProbe.GID, String.join(", ", bad), REMEDY));
        }
        return new PortGids(
                ports,
                bad.isEmpty()
                        ? Check.pass(IbrcProbe.GID, text)
                        : Check.warn(IbrcProbe.GID, "not used: " + String.join(", ", bad) + "; used: " + text, REMEDY));
    }

    /**
     * Whether a port can send from what {@link GidChoice} chooses. An entry that the user names is taken though it be of another
     * namespace, or cannot be read; where a table cannot be read, entry 0 of InfiniBand can be relied on.
     */
    static boolean works(NicPort port, int wanted) {
        return switch (GidChoice.of(port, wanted).verdict()) {
            case FINE, IPV6, ROCE_V1 -> true;
            case FOREIGN -> wanted >= 0;
            case UNKNOWN -> wanted >= 0 || port.linkLayer() == LinkLayer.INFINIBAND;
            case LINK_LOCAL, EMPTY -> false;
        };
    }
}
