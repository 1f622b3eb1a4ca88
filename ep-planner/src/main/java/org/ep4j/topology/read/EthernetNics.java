package org.ep4j.topology.read;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.Topology;

/** Ethernet interfaces with a device below them, and without RDMA: {@code /sys/class/net}. */
final class EthernetNics {
    private static final String FOLDER = "/sys/class/net/";

    /** {@code ARPHRD_ETHER} of Linux {@code if_arp.h}. */
    private static final int ETHERNET = 1;

    private EthernetNics() {}

    static void add(
            SysFiles sys,
            PciTree pci,
            NetworkInterfaces interfaces,
            LostRates lost,
            Topology.Builder builder,
            int host,
            Set<String> taken) {
        Set<String> seen = new HashSet<>(taken);
        for (String name : interfaces.names()) {
            Optional<PciTree.Place> place = pci.place(FOLDER + name + "/device");
            boolean rdma = seen.contains(name)
                    || place.map(at -> taken.contains(at.device())).orElse(false);
            String carrier = carrier(interfaces, name);
            if (sys.number(FOLDER + name + "/type") != ETHERNET
                    || !interfaces.isPhysical(name)
                    || rdma
                    || taken.contains(carrier)
                    || interfaces.isCarriedByAnother(name)) {
                continue;
            }
            // The members of a bond are one NIC, at the place of the first.
            seen.addAll(interfaces.members(carrier));
            Nic nic = nic(sys, pci, host, carrier, name, place);
            String speed = speed(sys, carrier);
            // Virtual adapters that are up say that they do not know, or reading fails where their driver has no such
            // setting. Sockets, which alone use these NICs, are slower.
            if (!speed.isEmpty() && !speed.equals("-1")) {
                lost.check(
                        carrier,
                        nic.ports().get(0).state(),
                        nic.gigabitsPerSecond(),
                        "speed",
                        speed,
                        LostRates.instead(nic.address()));
            }
            place.ifPresentOrElse(at -> pci.attach(nic, at), () -> builder.add(nic));
        }
    }

    /**
     * What an interface with a device carries addresses by: the bond that it is a member of, and of that or of itself the VLAN
     * where only a VLAN has networks.
     */
    private static String carrier(NetworkInterfaces interfaces, String physical) {
        String base = interfaces.madeFrom(physical).stream()
                .filter(interfaces::isBond)
                .findFirst()
                .orElse(physical);
        if (interfaces.isRouted(base)) {
            return base;
        }
        return interfaces.vlansOf(base).stream()
                .filter(interfaces::isRouted)
                .findFirst()
                .orElse(base);
    }

    private static Nic nic(
            SysFiles sys, PciTree pci, int host, String name, String physical, Optional<PciTree.Place> place) {
        String device = place.map(PciTree.Place::device).orElse(FOLDER + physical + "/device");
        return new Nic(
                host,
                name,
                place.flatMap(PciTree.Place::address),
                sys.id(device),
                NicFamily.ETHERNET,
                Optional.of(sys.driver(FOLDER + physical + "/device"))
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

    /** What an interface says of its rate. */
    static String speed(SysFiles sys, String name) {
        return sys.text(FOLDER + name + "/speed");
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
        return new NicPort(1, state, NicReach.LinkLayer.ETHERNET, speed / 1000, 0, 0, name, List.of());
    }
}
