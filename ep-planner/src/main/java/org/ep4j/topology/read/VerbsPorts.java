package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.GidChoice;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciAddress;

/** Ports of a verbs device, {@code /sys/class/infiniband/DEVICE/ports}. */
final class VerbsPorts {
    /**
     * Largest number of bytes that RoCE adds to a packet, by {@code iboe_get_mtu} of Linux
     * {@code include/rdma/ib_addr.h}.
     */
    private static final int ROCE_HEADERS = 100;

    /** Characters of the first four groups of a GID. */
    private static final int SUBNET_PREFIX = 19;

    private final SysFiles sys;
    private final String device;
    private final NetworkInterfaces interfaces;
    private final PciTree pci;
    private final UnknownRates unknownRates;
    private final Optional<PciAddress> function;

    /** iWARP names its GIDs by MAC addresses, and no interface with them. */
    private final boolean iwarp;

    VerbsPorts(SysFiles sys, String device, NetworkInterfaces interfaces, PciTree pci, UnknownRates unknownRates) {
        this.sys = sys;
        this.device = device;
        this.interfaces = interfaces;
        this.pci = pci;
        this.unknownRates = unknownRates;
        this.function = pci.place(device + "/device").flatMap(PciTree.Place::address);
        this.iwarp = sys.text(device + "/node_type").equals("4: RNIC");
    }

    List<NicPort> read() {
        return sys.tree().list(device + "/ports").stream()
                .filter(name -> name.matches("[1-9]\\d{0,2}"))
                .map(Integer::parseInt)
                .sorted()
                .map(this::port)
                .toList();
    }

    private NicPort port(int number) {
        String folder = device + "/ports/" + number;
        NicReach.LinkLayer layer = linkLayer(sys.text(folder + "/link_layer"));
        List<Gid> gids = gids(folder, layer == NicReach.LinkLayer.ETHERNET && !iwarp);
        boolean gidsRead = !sys.tree().list(folder + "/gids").isEmpty();
        NicPort read = new NicPort(
                number,
                state(sys.text(folder + "/state")),
                layer,
                sys.leading(folder + "/rate"),
                0,
                Math.max(0, sys.number(folder + "/lid")),
                "",
                gids,
                gidsRead,
                "");
        if (layer != NicReach.LinkLayer.ETHERNET) {
            boolean routed = GidChoice.of(read).index() > 0;
            String prefix = layer == NicReach.LinkLayer.INFINIBAND && !gids.isEmpty() && !routed
                    ? gids.get(0).address().substring(0, SUBNET_PREFIX)
                    : "";
            checkRate(read, folder);
            return read.on(netdev(number, gids), 0, prefix);
        }
        // A port has as many interfaces as VLANs, and they differ in all that follows: what is sent from counts.
        Optional<Gid> chosen = GidChoice.of(read).gid().filter(gid -> !gid.foreign());
        String netdev = chosen.map(Gid::netdev).filter(name -> !name.isEmpty()).orElseGet(() -> netdev(number, gids));
        String network = chosen.map(Gid::network).orElseGet(() -> interfaces.network(netdev));
        NicPort rated = read.withRate(rate(netdev, read));
        checkRate(rated, folder);
        return rated.on(netdev, roceMtu(netdev), network);
    }

    private void checkRate(NicPort port, String folder) {
        String text = sys.text(folder + "/rate");
        unknownRates.check(name(port.number()), port, "rate", text, UnknownRates.instead(function));
    }

    /** Gigabits a second: those of a bond where all of its members send through this device. */
    private double rate(String netdev, NicPort port) {
        Optional<String> bond = interfaces
                .bondOf(netdev)
                .filter(name -> interfaces.members(name).stream().allMatch(this::isMine));
        double megabits = bond.map(interfaces::megabits).orElse(0.0);
        bond.filter(name -> port.gigabitsPerSecond() > 0)
                .ifPresent(name -> unknownRates.check(
                        name(port.number()),
                        port.withRate(megabits),
                        "speed of " + name,
                        LinuxNics.speed(sys, name),
                        UnknownRates.ONE_PORT));
        return megabits > 0 ? megabits / 1000 : port.gigabitsPerSecond();
    }

    private String name(int port) {
        return SysFiles.last(device) + ":" + port;
    }

    private boolean isMine(String member) {
        List<String> devices = sys.tree().list("/sys/class/net/" + member + "/device/infiniband");
        return devices.isEmpty() || devices.contains(SysFiles.last(device));
    }

    private static NicPort.State state(String text) {
        if (text.isEmpty()) {
            return NicPort.State.UNKNOWN;
        }
        return text.startsWith("4:") ? NicPort.State.ACTIVE : NicPort.State.DOWN;
    }

    static NicReach.LinkLayer linkLayer(String text) {
        return switch (text) {
            case "InfiniBand" -> NicReach.LinkLayer.INFINIBAND;
            case "Ethernet" -> NicReach.LinkLayer.ETHERNET;
            default -> NicReach.LinkLayer.UNSPECIFIED;
        };
    }

    private List<Gid> gids(String folder, boolean roce) {
        List<Gid> gids = new ArrayList<>();
        sys.tree().list(folder + "/gids").stream()
                .filter(name -> name.matches("\\d{1,5}"))
                .map(Integer::parseInt)
                .sorted()
                .forEach(index -> sys.tree()
                        .text(folder + "/gids/" + index)
                        .flatMap(Gid::expand)
                        .ifPresent(address -> gids.add(new Gid(
                                index,
                                address,
                                sys.text(folder + "/gid_attrs/types/" + index),
                                sys.text(folder + "/gid_attrs/ndevs/" + index)))));
        if (!roce) {
            return gids;
        }
        // One address that is not of this namespace says it of its interface, and so of that interface's other
        // addresses.
        Set<String> elsewhere =
                gids.stream().filter(this::isElsewhere).map(Gid::netdev).collect(Collectors.toSet());
        return gids.stream()
                .map(gid -> new Gid(
                        gid.index(),
                        gid.address(),
                        gid.type(),
                        gid.netdev(),
                        network(gid, elsewhere.contains(gid.netdev())),
                        elsewhere.contains(gid.netdev()) || hasForeignIpv6(gid)))
                .toList();
    }

    private boolean isElsewhere(Gid gid) {
        if (gid.type().isEmpty() && gid.netdev().isEmpty()) {
            // Kernels before 4.3, and recordings without gid_attrs, have neither.
            return false;
        }
        return interfaces.isElsewhere(gid.netdev(), pci, function)
                || gid.ipv4().filter(interfaces::isForeign).isPresent();
    }

    /** Returns true for an IPv6 address of another namespace; link-local GIDs need not be addresses. */
    private boolean hasForeignIpv6(Gid gid) {
        String digits = gid.address().replace(":", "");
        return gid.ipv4().isEmpty() && !digits.startsWith("fe8") && interfaces.isForeignIpv6(digits);
    }

    /** The network of an entry; the routing table that is read has IPv4 routes of this namespace only. */
    private String network(Gid gid, boolean elsewhere) {
        return elsewhere || gid.ipv4().isEmpty() ? "" : interfaces.network(gid.netdev());
    }

    /** Interface of a port by its number; the table of GIDs names it only while the interface is up. */
    private String netdev(int number, List<Gid> gids) {
        for (String name : sys.tree().list(device + "/device/net")) {
            if (Math.max(0, sys.number(device + "/device/net/" + name + "/dev_port")) == number - 1) {
                return name;
            }
        }
        return gids.stream()
                .filter(gid -> !gid.foreign())
                .map(Gid::netdev)
                .filter(name -> !name.isEmpty())
                .findFirst()
                .orElse("");
    }

    private int roceMtu(String netdev) {
        int frame = interfaces.mtu(netdev);
        for (int mtu = 4096; mtu >= 256; mtu /= 2) {
            if (frame - ROCE_HEADERS >= mtu) {
                return mtu;
            }
        }
        return 0;
    }
}
