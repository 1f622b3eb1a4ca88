package org.ep4j.topology.read;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicFamilies;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;

/**
 * NICs with RDMA: {@code /sys/class/infiniband}, and {@code /sys/class/cxi} of Slingshot; then Ethernet interfaces with a
 * device below them and without RDMA: {@code /sys/class/net}.
 */
final class LinuxNics {
    private static final String VERBS = "/sys/class/infiniband/";
    private static final String SLINGSHOT = "/sys/class/cxi/";
    private static final String NET = "/sys/class/net/";

    /** {@code ARPHRD_ETHER} of Linux {@code if_arp.h}. */
    private static final int ETHERNET = 1;

    private final SysFiles sys;
    private final PciTree pci;
    private final Topology.Builder builder;
    private final int host;
    private final NetworkInterfaces interfaces;
    private final UnknownRates unknownRates;

    /** PCI functions and interfaces that are NICs with RDMA, so that they are not Ethernet NICs as well. */
    private final Set<String> taken = new HashSet<>();

    LinuxNics(
            SysFiles sys,
            PciTree pci,
            NetworkInterfaces interfaces,
            UnknownRates unknownRates,
            Topology.Builder builder,
            int host) {
        this.sys = sys;
        this.pci = pci;
        this.interfaces = interfaces;
        this.unknownRates = unknownRates;
        this.builder = builder;
        this.host = host;
    }

    void add() {
        for (String name : sys.tree().list(VERBS)) {
            add(name, VERBS + name, new VerbsPorts(sys, VERBS + name, interfaces, pci, unknownRates).read());
        }
        for (String name : sys.tree().list(SLINGSHOT)) {
            add(name, SLINGSHOT + name, slingshot(SLINGSHOT + name));
        }
        addEthernet();
    }

    private void add(String name, String folder, List<NicPort> ports) {
        Optional<PciTree.Place> place = pci.place(folder + "/device");
        PciId id = place.map(at -> sys.id(at.device())).orElse(PciId.UNKNOWN);
        String driver = place.map(at -> sys.driver(at.device())).orElseGet(() -> software(folder));
        NicFamily family = NicFamilies.of(driver, id);
        Nic nic = new Nic(
                host,
                name,
                place.flatMap(PciTree.Place::address),
                physical(folder, place),
                id,
                family == NicFamily.ETHERNET ? NicFamily.OTHER_RDMA : family,
                driver,
                card(name, folder, place),
                place.map(pci::numa).orElse(-1),
                family.software() ? Optional.of(false) : Optional.empty(),
                NicFamilies.compute(id),
                ports,
                IbvDevice.guid(sys.text(folder + "/node_guid")),
                true);
        if (place.isPresent()) {
            pci.attach(nic, place.get());
            taken.add(place.get().device());
        } else {
            builder.add(nic);
        }
        Optional<PciAddress> card = place.flatMap(PciTree.Place::address).map(PciAddress::card);
        ports.stream().map(NicPort::netdev).filter(netdev -> !netdev.isEmpty()).forEach(netdev -> take(netdev, card));
        sys.tree().list(folder + "/device/net").forEach(netdev -> take(netdev, card));
    }

    /** Notes an interface with those above it and on its card: the other port of a bond has no RDMA device. */
    private void take(String netdev, Optional<PciAddress> card) {
        taken.add(netdev);
        taken.addAll(interfaces.madeFrom(netdev));
        for (String member : interfaces.members(netdev)) {
            Optional<PciTree.Place> place = pci.place(NET + member + "/device");
            boolean same = card.isPresent()
                    && place.flatMap(PciTree.Place::address)
                            .map(PciAddress::card)
                            .equals(card);
            if (same) {
                taken.add(member);
                place.ifPresent(at -> taken.add(at.device()));
            }
        }
    }

    /** The physical function of a virtual one, or the function that a scalable one is on. */
    private Optional<PciAddress> physical(String folder, Optional<PciTree.Place> place) {
        if (place.isEmpty()) {
            return Optional.empty();
        }
        String device = place.get().device();
        boolean below = sys.tree()
                .real(folder + "/device")
                .filter(real -> !real.equals(device))
                .isPresent();
        return below
                ? place.get().address()
                : sys.tree().link(device + "/physfn").map(SysFiles::last).flatMap(PciAddress::parse);
    }

    /** Devices without hardware: iWARP in software says that it is an RNIC, RoCE in software that it is an adapter. */
    private String software(String folder) {
        return switch (sys.text(folder + "/node_type")) {
            case "4: RNIC" -> "siw";
            case "1: CA" -> "rdma_rxe";
            default -> "";
        };
    }

    private String card(String name, String folder, Optional<PciTree.Place> place) {
        String system = sys.text(folder + "/sys_image_guid");
        return system.matches("[0:]*") ? card(name, place) : system;
    }

    private static String card(String name, Optional<PciTree.Place> place) {
        return place.flatMap(PciTree.Place::address)
                .map(address -> address.card().toString())
                .orElse(name);
    }

    private List<NicPort> slingshot(String folder) {
        List<String> names = sys.tree().list(folder + "/device/net");
        if (names.isEmpty()) {
            return List.of();
        }
        NicPort port = port(sys, names.get(0));
        Optional<PciAddress> address = pci.place(folder + "/device").flatMap(PciTree.Place::address);
        String text = speed(sys, names.get(0));
        unknownRates.check(SysFiles.last(folder), port, "speed", text, UnknownRates.instead(address));
        return List.of(port);
    }

    private void addEthernet() {
        Set<String> seen = new HashSet<>(taken);
        for (String name : interfaces.names()) {
            Optional<PciTree.Place> place = pci.place(NET + name + "/device");
            boolean rdma = seen.contains(name)
                    || place.map(at -> taken.contains(at.device())).orElse(false);
            String carrier = carrier(name);
            if (sys.number(NET + name + "/type") != ETHERNET
                    || !interfaces.isPhysical(name)
                    || rdma
                    || taken.contains(carrier)
                    || interfaces.isCarriedByAnother(name)) {
                continue;
            }
            // The members of a bond are one NIC, at the place of the first.
            seen.addAll(interfaces.members(carrier));
            Nic nic = ethernet(carrier, name, place);
            String speed = speed(sys, carrier);
            // Virtual adapters that are up say that they do not know, or reading fails where their driver has no such
            // setting. Sockets, which alone use these NICs, are slower.
            if (!speed.isEmpty() && !speed.equals("-1")) {
                NicPort port = nic.ports().get(0);
                unknownRates.check(carrier, port, "speed", speed, UnknownRates.instead(nic.address()));
            }
            place.ifPresentOrElse(at -> pci.attach(nic, at), () -> builder.add(nic));
        }
    }

    /**
     * The interface that has the addresses of an interface with a device: the bond that it is a member of, and of that
     * or of itself the VLAN where only a VLAN has networks.
     */
    private String carrier(String physical) {
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

    private Nic ethernet(String name, String physical, Optional<PciTree.Place> place) {
        String device = place.map(PciTree.Place::device).orElse(NET + physical + "/device");
        return new Nic(
                host,
                name,
                place.flatMap(PciTree.Place::address),
                sys.id(device),
                NicFamily.ETHERNET,
                Optional.of(sys.driver(NET + physical + "/device"))
                        .filter(driver -> !driver.isEmpty())
                        .orElseGet(() -> sys.driver(device)),
                card(name, place),
                place.map(pci::numa).orElse(-1),
                Optional.of(false),
                true,
                List.of(port(sys, name)));
    }

    static String speed(SysFiles sys, String name) {
        return sys.text(NET + name + "/speed");
    }

    static NicPort port(SysFiles sys, String name) {
        NicPort.State state = switch (sys.text(NET + name + "/operstate")) {
            case "up" -> NicPort.State.ACTIVE;
            case "", "unknown" -> NicPort.State.UNKNOWN;
            default -> NicPort.State.DOWN;
        };
        // Megabits a second; -1 when the link is down or the driver does not know.
        double speed = Math.max(0, sys.number(NET + name + "/speed"));
        return new NicPort(1, state, NicReach.LinkLayer.ETHERNET, speed / 1000, 0, 0, name, List.of());
    }
}
