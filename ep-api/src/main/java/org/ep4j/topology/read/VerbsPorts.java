package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.ep4j.topology.Gid;
import org.ep4j.topology.NicPort;

/** Ports of a verbs device, {@code /sys/class/infiniband/DEVICE/ports}. */
final class VerbsPorts {
    /** What RoCE adds to a packet at most, by {@code iboe_get_mtu} of Linux {@code include/rdma/ib_addr.h}. */
    private static final int ROCE_HEADERS = 100;

    /** Characters of the first four groups of a GID. */
    private static final int SUBNET_PREFIX = 19;

    /**
     * Free entries of the table of GIDs in a row after which it is not read on. The kernel gives a new address the first free
     * entry, so behind so many there is something only where a port had more addresses than that and has lost them.
     */
    private static final int MOST_FREE = 64;

    private final SysFiles sys;
    private final String device;
    private final ConnectedNetworks networks;

    VerbsPorts(SysFiles sys, String device, ConnectedNetworks networks) {
        this.sys = sys;
        this.device = device;
        this.networks = networks;
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
        NicPort.LinkLayer layer = linkLayer(sys.text(folder + "/link_layer"));
        List<Gid> gids = gids(folder);
        String netdev = gids.stream()
                .map(Gid::netdev)
                .filter(name -> !name.isEmpty())
                .min(Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder()))
                .orElseGet(() -> netdev(number));
        return new NicPort(
                number,
                state(sys.text(folder + "/state")),
                layer,
                sys.leading(folder + "/rate"),
                layer == NicPort.LinkLayer.ETHERNET ? mtu(netdev) : 0,
                Math.max(0, sys.number(folder + "/lid")),
                netdev,
                gids,
                network(layer, netdev, gids));
    }

    private String network(NicPort.LinkLayer layer, String netdev, List<Gid> gids) {
        return switch (layer) {
            case ETHERNET -> networks.of(netdev);
            case INFINIBAND -> gids.isEmpty() ? "" : gids.get(0).address().substring(0, SUBNET_PREFIX);
            case UNSPECIFIED -> "";
        };
    }

    private static NicPort.State state(String text) {
        if (text.isEmpty()) {
            return NicPort.State.UNKNOWN;
        }
        return text.startsWith("4:") ? NicPort.State.ACTIVE : NicPort.State.DOWN;
    }

    static NicPort.LinkLayer linkLayer(String text) {
        return switch (text) {
            case "InfiniBand" -> NicPort.LinkLayer.INFINIBAND;
            case "Ethernet" -> NicPort.LinkLayer.ETHERNET;
            default -> NicPort.LinkLayer.UNSPECIFIED;
        };
    }

    private List<Gid> gids(String folder) {
        List<Integer> indices = sys.tree().list(folder + "/gids").stream()
                .filter(name -> name.matches("\\d{1,5}"))
                .map(Integer::parseInt)
                .sorted()
                .toList();
        List<Gid> gids = new ArrayList<>();
        int free = 0;
        for (int index : indices) {
            Optional<String> address =
                    sys.tree().text(folder + "/gids/" + index).flatMap(GidText::expand);
            free = address.isPresent() ? 0 : free + 1;
            if (free > MOST_FREE) {
                break;
            }
            if (address.isPresent()) {
                gids.add(new Gid(
                        index,
                        address.get(),
                        sys.text(folder + "/gid_attrs/types/" + index),
                        sys.text(folder + "/gid_attrs/ndevs/" + index)));
            }
        }
        return gids;
    }

    /** Interface of a port by its number; the table of GIDs names it only while the interface is up. */
    private String netdev(int number) {
        for (String name : sys.tree().list(device + "/device/net")) {
            if (Math.max(0, sys.number(device + "/device/net/" + name + "/dev_port")) == number - 1) {
                return name;
            }
        }
        return "";
    }

    private int mtu(String netdev) {
        int frame = netdev.isEmpty() ? -1 : sys.number("/sys/class/net/" + netdev + "/mtu");
        for (int mtu = 4096; mtu >= 256; mtu /= 2) {
            if (frame - ROCE_HEADERS >= mtu) {
                return mtu;
            }
        }
        return 0;
    }
}
