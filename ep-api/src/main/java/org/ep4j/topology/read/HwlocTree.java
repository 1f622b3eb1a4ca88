package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.ep4j.topology.HostBridge;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkBandwidths;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NumaNode;
import org.ep4j.topology.Part;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciSwitch;
import org.ep4j.topology.Processor;
import org.ep4j.topology.Topology;

/**
 * Goes through the tree of a hwloc topology and adds what lies on the way to GPUs and NICs. Used once.
 *
 * <p>hwloc lists every PCIe port: root port, upstream port, downstream port and so on. An upstream port stands for its
 * switch; root ports and downstream ports vanish. A root port with several devices counts as a switch, since these are one
 * card.
 */
final class HwlocTree {
    private final HwlocFile file;
    private final Topology.Builder topology;
    private final int host;
    private final Map<Integer, NumaNode> nodes = new LinkedHashMap<>();
    private final Map<String, List<NumaNode>> known = new HashMap<>();
    private final Set<PciAddress> addresses = new HashSet<>();
    private final Set<String> bridges = new HashSet<>();
    private final HwlocGpus gpus;
    private final HwlocNics nics;

    /**
     * Where an object hangs.
     *
     * @param parent switch, host bridge or NUMA node above it
     * @param depth PCIe ports between it and the host bridge
     * @param numa NUMA node; -1 when unknown
     */
    record Seat(Part parent, int depth, int numa) {}

    HwlocTree(HwlocFile file) {
        this.file = file;
        topology = Topology.builder(file.root().source());
        host = topology.host(file.info("HostName"));
        gpus = new HwlocGpus(file, topology, host);
        nics = new HwlocNics(file, topology, host);
    }

    Topology topology() {
        Processor processor = HwlocProcessor.read(file);
        for (XmlElement object : file.objects()) {
            if (HwlocFile.type(object).equals("NUMANode")) {
                int number = object.number("os_index", 0, Limits.NUMA_NUMBER, nodes.size());
                if (number != object.number("os_index").orElse(number)) {
                    topology.warn("line " + object.line() + ": a NUMA node has the os_index "
                            + Faults.quote(object.value("os_index")) + "; expected a number from 0 to "
                            + Limits.NUMA_NUMBER + ", so it counts as " + number);
                }
                nodes.putIfAbsent(
                        number, new NumaNode(host, number, processor, new HwlocBitmap(object.value("cpuset")).size()));
                if (nodes.size() > Limits.NUMA_NODES) {
                    throw object.wrong("more than " + Limits.NUMA_NODES + " NUMA nodes");
                }
            }
        }
        if (nodes.isEmpty()) {
            nodes.put(-1, new NumaNode(host, -1, processor));
        }
        nodes.values().forEach(topology::add);
        ProcessorLinks.connect(topology, List.copyOf(nodes.values()));
        file.root().children("object").forEach(object -> walk(object, ""));
        gpus.finish();
        file.warnings().forEach(topology::warn);
        return topology.build();
    }

    private void walk(XmlElement object, String nodeset) {
        String near = object.attribute("nodeset").orElse(nodeset);
        String type = HwlocFile.type(object);
        if (type.equals("Bridge") && object.value("bridge_type").startsWith("0")) {
            if (file.useful(object)) {
                hostBridge(object, roots(near));
            }
        } else if (type.equals("Bridge") || type.equals("PCIDev")) {
            NumaNode node = roots(near).get(0);
            topology.warn("line " + object.line() + ": a PCI device without host bridge; distances to it are a guess");
            below(object, new Seat(node, 0, node.number()));
        } else {
            object.children("object").forEach(child -> walk(child, near));
        }
    }

    /** NUMA nodes of a set; all where the file does not tell. */
    private List<NumaNode> roots(String nodeset) {
        return known.computeIfAbsent(nodeset, text -> {
            HwlocBitmap set = new HwlocBitmap(text);
            List<NumaNode> inSet = nodes.values().stream()
                    .filter(node -> set.contains(node.number()))
                    .toList();
            return inSet.isEmpty() ? List.copyOf(nodes.values()) : inSet;
        });
    }

    private void hostBridge(XmlElement object, List<NumaNode> roots) {
        HostBridge bridge = new HostBridge(host, bridgeName(object));
        topology.add(bridge);
        roots.forEach(node -> topology.link(node, bridge, new Link(LinkType.ROOT, LinkBandwidths.UNLIMITED, 1)));
        int numa = roots.size() == 1 ? roots.get(0).number() : -1;
        object.children("object").forEach(child -> below(child, new Seat(bridge, 0, numa)));
    }

    /** {@code 0000:[40-47]} becomes {@code pci0000:40}, the name in sysfs. */
    private String bridgeName(XmlElement object) {
        String range = object.value("bridge_pci");
        int end = range.indexOf('-');
        String name = range.matches("[0-9a-fA-F]{1,8}:\\[[0-9a-fA-F]{1,2}-.*")
                ? "pci" + range.substring(0, end).replace("[", "").toLowerCase(Locale.ROOT)
                : "pci?";
        String unique = bridges.add(name) ? name : name + "#" + bridges.size();
        bridges.add(unique);
        return unique;
    }

    private void below(XmlElement object, Seat seat) {
        String type = HwlocFile.type(object);
        if ((!type.equals("Bridge") && !type.equals("PCIDev")) || !file.useful(object)) {
            return;
        }
        PciAddress address = HwlocFile.address(object);
        if (!addresses.add(address)) {
            throw object.wrong("PCI address " + address + " appears a second time");
        }
        if (type.equals("Bridge")) {
            Seat inside = bridge(object, address, seat);
            object.children("object").forEach(child -> below(child, inside));
        } else if (file.gpu(object)) {
            gpus.add(object, address, seat);
        } else {
            nics.add(object, address, seat);
        }
    }

    private Seat bridge(XmlElement object, PciAddress address, Seat seat) {
        int depth = seat.depth() + 1;
        List<XmlElement> useful = new ArrayList<>(object.children("object"));
        useful.removeIf(child -> !file.useful(child));
        boolean upstream = depth % 2 == 0;
        boolean card = depth == 1 && useful.size() > 1;
        if (!upstream && !card) {
            return new Seat(seat.parent(), depth, seat.numa());
        }
        PciSwitch part = new PciSwitch(host, address, HwlocFile.id(object));
        topology.add(part).link(seat.parent(), part, new Link(LinkType.PCI, HwlocFile.linkSpeed(object), 1));
        return new Seat(part, depth, seat.numa());
    }
}
