package org.ep4j.topology.read;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.topology.Nic;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicPort;
import org.ep4j.topology.Printable;
import org.ep4j.topology.Topology;

/** Ethernet interfaces with a device below them, and without RDMA: {@code /sys/class/net}. */
final class EthernetNics {
    private static final String FOLDER = "/sys/class/net/";

    /** {@code ARPHRD_ETHER} of Linux {@code if_arp.h}. */
    private static final int ETHERNET = 1;

    private EthernetNics() {}

    static void add(SysFiles sys, PciTree pci, Topology.Builder builder, int host, Set<String> taken) {
        for (String name : sys.tree().list(FOLDER)) {
            Optional<PciTree.Place> place = pci.place(FOLDER + name + "/device");
            boolean physical = sys.number(FOLDER + name + "/type") == ETHERNET
                    && sys.tree().exists(FOLDER + name + "/device");
            boolean rdma = taken.contains(name)
                    || place.map(at -> taken.contains(at.device())).orElse(false);
            if (physical && !rdma) {
                Nic nic = nic(sys, pci, host, name, place);
                place.ifPresentOrElse(at -> pci.attach(nic, at), () -> builder.add(nic));
            }
        }
    }

    private static Nic nic(SysFiles sys, PciTree pci, int host, String name, Optional<PciTree.Place> place) {
        String device = place.map(PciTree.Place::device).orElse(FOLDER + name + "/device");
        return new Nic(
                host,
                Printable.of(name),
                place.flatMap(PciTree.Place::address),
                sys.id(device),
                NicFamily.ETHERNET,
                Optional.of(sys.driver(FOLDER + name + "/device"))
                        .filter(driver -> !driver.isEmpty())
                        .orElseGet(() -> sys.driver(device)),
                place.flatMap(PciTree.Place::address)
                        .map(address -> address.card().toString())
                        .orElse(name),
                place.map(pci::numa).orElse(-1),
                Optional.of(false),
                true,
                List.of(port(sys, name)));
    }

    /** An interface as a port. */
    static NicPort port(SysFiles sys, String name) {
        NicPort.State state = switch (sys.text(FOLDER + name + "/operstate")) {
            case "up" -> NicPort.State.ACTIVE;
            case "", "unknown" -> NicPort.State.UNKNOWN;
            default -> NicPort.State.DOWN;
        };
        // Megabits a second; -1 when the link is down or the driver does not know.
        double speed = Math.max(0, sys.number(FOLDER + name + "/speed"));
        return new NicPort(1, state, NicPort.LinkLayer.ETHERNET, speed / 1000, 0, 0, name, List.of());
    }
}
