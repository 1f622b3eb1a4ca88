package org.ep4j.topology.read;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.ep4j.topology.Gid;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Nic;
import org.ep4j.topology.NicFamilies;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicPort;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciId;
import org.ep4j.topology.Topology;

/** The NICs of a hwloc topology: one for each device of verbs. */
final class HwlocNics {
    private static final int PORTS = 16;

    private final HwlocFile file;
    private final Topology.Builder topology;
    private final int host;
    private final Set<String> names = new HashSet<>();

    HwlocNics(HwlocFile file, Topology.Builder topology, int host) {
        this.file = file;
        this.topology = topology;
        this.host = host;
    }

    void add(XmlElement pci, PciAddress address, HwlocTree.Seat seat) {
        List<XmlElement> devices = file.verbs(pci);
        // An interface can be matched to a port where there is one of each.
        String netdev = devices.size() == 1 ? file.netdev(pci).orElse("") : "";
        for (XmlElement device : devices) {
            String name = device.value("name");
            String guid = IbvDevice.guid(HwlocFile.info(device, "NodeGUID"));
            place(pci, address, seat, name.isBlank() ? "nic@" + address : name, ports(pci, device, netdev), guid);
        }
        if (devices.isEmpty()) {
            place(pci, address, seat, "nic@" + address, List.of(), "");
        }
    }

    private void place(
            XmlElement pci, PciAddress address, HwlocTree.Seat seat, String name, List<NicPort> ports, String guid) {
        if (names.size() >= Limits.NICS) {
            throw pci.wrong("more than " + Limits.NICS + " NICs");
        }
        if (!names.add(name)) {
            throw pci.wrong("NIC " + Faults.quote(name) + " appears a second time");
        }
        PciId id = HwlocFile.id(pci);
        NicFamily family = NicFamilies.of("", id);
        Nic nic = new Nic(
                        host,
                        name,
                        Optional.of(address),
                        id,
                        family == NicFamily.ETHERNET ? NicFamily.OTHER_RDMA : family,
                        "",
                        address.card().toString(),
                        seat.numa(),
                        Optional.empty(),
                        NicFamilies.compute(id),
                        ports)
                .withGuid(guid);
        topology.add(nic).link(seat.parent(), nic, new Link(LinkType.PCI, HwlocFile.linkSpeed(pci), 1));
    }

    private static List<NicPort> ports(XmlElement pci, XmlElement device, String netdev) {
        Map<String, String> infos = HwlocFile.infos(device);
        List<Integer> numbers = IntStream.rangeClosed(1, PORTS)
                .filter(number -> infos.containsKey("Port" + number + "State"))
                .boxed()
                .toList();
        String ofPort = numbers.size() == 1 ? netdev : "";
        NicPort.LinkLayer layer = layer(HwlocFile.id(pci));
        return numbers.stream()
                .map(number -> port(number, infos, layer, ofPort))
                .toList();
    }

    private static NicPort port(int number, Map<String, String> infos, NicPort.LinkLayer layer, String netdev) {
        String prefix = "Port" + number;
        NicPort.State state = state(infos.getOrDefault(prefix + "State", ""));
        int lid = lid(infos.getOrDefault(prefix + "LID", ""));
        return new NicPort(number, state, layer, 0, 0, lid, netdev, gids(infos, prefix));
    }

    /** Numbers of {@code enum ibv_port_state}: 4 is active, 1 down; others are on the way between. */
    private static NicPort.State state(String text) {
        return switch (text) {
            case "4" -> NicPort.State.ACTIVE;
            case "1", "2", "3" -> NicPort.State.DOWN;
            default -> NicPort.State.UNKNOWN;
        };
    }

    /** Firmware sets the class code by what the port is configured for. */
    private static NicPort.LinkLayer layer(PciId id) {
        if (NicFamilies.of("", id) == NicFamily.EFA) {
            return NicPort.LinkLayer.UNSPECIFIED;
        }
        return switch (id.classCode() >> 8) {
            case 0x0207 -> NicPort.LinkLayer.INFINIBAND;
            case 0x0200 -> NicPort.LinkLayer.ETHERNET;
            default -> NicPort.LinkLayer.UNSPECIFIED;
        };
    }

    /** 0xffff is the permissive LID, which a port has that no subnet manager has seen. */
    private static int lid(String text) {
        int lid = text.matches("0x[0-9a-fA-F]{1,4}") ? Integer.parseInt(text.substring(2), 16) : 0;
        return lid == 0xffff ? 0 : lid;
    }

    private static List<Gid> gids(Map<String, String> infos, String prefix) {
        return IntStream.range(0, Limits.GIDS)
                .filter(index -> infos.containsKey(prefix + "GID" + index))
                .mapToObj(index -> new Gid(index, infos.getOrDefault(prefix + "GID" + index, ""), "", ""))
                .toList();
    }
}
