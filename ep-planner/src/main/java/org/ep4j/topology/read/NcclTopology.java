package org.ep4j.topology.read;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyException;

/**
 * Reads what NCCL and RCCL write with {@code NCCL_TOPO_DUMP_FILE} and take with {@code NCCL_TOPO_FILE}: the syntax of
 * {@code graph/xml.cc}. Templates of cloud providers hold PCI devices and neither {@code gpu} nor {@code net} elements; their
 * GPUs and NICs are recognised by their class code.
 */
final class NcclTopology {
    /** Base classes of PCI devices. Instinct modules are processing accelerators (12). */
    private static final int NETWORK = 0x02;

    private static final int DISPLAY = 0x03;
    private static final int ACCELERATOR = 0x12;

    private final XmlElement system;
    private final Topology.Builder topology;
    private final boolean gpusByClass;
    private final boolean nicsByClass;
    private final Map<String, Integer> hosts = new LinkedHashMap<>();
    private final Map<Integer, Map<Integer, NumaNode>> nodes = new LinkedHashMap<>();
    private final Map<Slot, Seen> switches = new HashMap<>();
    private final Map<Slot, Integer> devices = new HashMap<>();
    private final Map<Slot, List<XmlElement>> shortcuts = new LinkedHashMap<>();
    private final NcclGpus gpus;
    private final NcclNics nics;

    private NcclTopology(XmlElement system, boolean rates) {
        this.system = system;
        topology = Topology.builder(system.source());
        gpusByClass = !contains(system, "gpu");
        nicsByClass = !contains(system, "net");
        gpus = new NcclGpus(topology, system.value("version").equals("2"));
        nics = new NcclNics(topology, rates);
    }

    /** A bus id on a host: bus ids repeat from host to host. */
    record Slot(int host, PciAddress address) {}

    private record Seen(PciSwitch part, Part parent, int line) {}

    /**
     * Reads a text.
     *
     * @throws TopologyException if it is no such file, or broken, with line and reason
     */
    static Topology read(String source, String text) {
        return read(source, text, true);
    }

    /**
     * Reads a text whose speeds of NICs are not used, so that those which cannot be read are not warned of.
     *
     * @throws TopologyException if it is no such file, or broken, with line and reason
     */
    static Topology readWithoutRates(String source, String text) {
        return read(source, text, false);
    }

    private static Topology read(String source, String text, boolean rates) {
        XmlElement system = XmlFile.read(source, text);
        if (!system.name().equals("system")) {
            throw system.wrong("the root element is " + Faults.quote(system.name())
                    + "; a topology of NCCL or RCCL begins with <system>, one of hwloc with <topology>");
        }
        String version = system.value("version");
        if (!version.equals("1") && !version.equals("2")) {
            throw system.wrong("the version of the topology is " + Faults.quote(version)
                    + "; known versions are 1 (NCCL) and 2 (RCCL)");
        }
        if (system.children("cpu").isEmpty()) {
            throw system.wrong("there is no <cpu> in <system>, so the file describes no machine");
        }
        return new NcclTopology(system, rates).build();
    }

    private Topology build() {
        NcclValues.check(system, topology);
        for (XmlElement cpu : system.children("cpu")) {
            cpu(cpu);
        }
        nodes.values().forEach(host -> NumaNodes.connect(topology, List.copyOf(host.values())));
        shortcuts();
        gpus.finish();
        nics.finish();
        return topology.build();
    }

    private void cpu(XmlElement cpu) {
        int host = hosts.computeIfAbsent(cpu.value("host_hash"), topology::host);
        int number = cpu.number("numaid", -1, Limits.NUMA_NUMBER, -1);
        if (cpu.number("numaid").isEmpty()) {
            topology.warn("line " + cpu.line() + ": <cpu> has no numaid, so its NUMA node counts as unknown");
        }
        Map<Integer, NumaNode> onHost = nodes.computeIfAbsent(host, any -> new LinkedHashMap<>());
        NumaNode node = onHost.computeIfAbsent(
                number,
                any -> new NumaNode(host, number, processor(cpu), new HwlocBitmap(cpu.value("affinity")).size()));
        cpu.limit(nodes.values().stream().mapToInt(Map::size).sum(), Limits.NUMA_NODES, "NUMA nodes");
        topology.add(node);
        children(cpu, new NcclSeat(node, node));
    }

    private void children(XmlElement parent, NcclSeat seat) {
        for (XmlElement child : parent.children()) {
            if (child.name().equals("pci")) {
                pci(child, seat);
            } else if (child.name().equals("nic") && parent.name().equals("cpu")) {
                nics.add(child, seat);
            }
        }
    }

    private void pci(XmlElement pci, NcclSeat seat) {
        PciAddress address = PciAddress.parse(pci.value("busid"))
                .orElseThrow(() -> pci.wrong("<pci> has the bus id " + Faults.quote(pci.value("busid"))
                        + "; it must be like 0000:0f:00.0 (domain:bus:device.function, hexadecimal)"));
        if (device(pci, address, seat)) {
            // A NIC may hang below a GPU (HPE EX235a); RCCL takes the GPU as a bridge. Its parent does for the way.
            children(pci, seat);
        } else if (!pci.children("pci").isEmpty()) {
            NcclSeat below = seat.below(bridge(pci, address, seat));
            children(pci, below);
        } else {
            topology.warn("line " + pci.line() + ": PCI device " + address + " is no GPU, NIC or switch; left out");
        }
    }

    /** Adds a GPU or NIC; false when the element is neither. What is inside decides, and only then the class code. */
    private boolean device(XmlElement pci, PciAddress address, NcclSeat seat) {
        List<XmlElement> inside = pci.children("gpu");
        List<XmlElement> cards = pci.children("nic");
        int base = NcclSeat.id(pci).classCode() >> 16;
        boolean display = base == DISPLAY || base == ACCELERATOR;
        if (inside.isEmpty() && cards.isEmpty() && !display && base != NETWORK) {
            return false;
        }
        Integer other = devices.putIfAbsent(new Slot(seat.host(), address), pci.line());
        if (other != null) {
            throw pci.wrong("bus id " + address + " is used a second time; line " + other + " has it too");
        }
        inside.forEach(gpu -> gpus.add(pci, gpu, address, seat));
        cards.forEach(card -> nics.add(pci, card, address, seat));
        if (inside.isEmpty() && cards.isEmpty()) {
            if (display && gpusByClass) {
                gpus.add(pci, new XmlElement(pci.source(), pci.line(), "gpu", Map.of(), List.of(), ""), address, seat);
            } else if (base == NETWORK && nicsByClass) {
                nics.add(pci, address, seat);
            }
        }
        return true;
    }

    private PciSwitch bridge(XmlElement pci, PciAddress address, NcclSeat seat) {
        Slot slot = new Slot(seat.host(), address);
        Seen seen = switches.get(slot);
        if (seen != null) {
            if (!seen.parent().equals(seat.parent())) {
                throw pci.wrong("switch " + address + " appears a second time, under another parent than on line "
                        + seen.line());
            }
            return seen.part();
        }
        PciId id = NcclSeat.id(pci);
        PciSwitch part = new PciSwitch(seat.host(), address, id);
        switches.put(slot, new Seen(part, seat.parent(), pci.line()));
        topology.add(part).link(seat.parent(), part, NcclSeat.link(pci));
        shortcuts.put(slot, pci.children("pcilink"));
        return part;
    }

    /** Links between Broadcom switches past their common parent. */
    private void shortcuts() {
        shortcuts.forEach((slot, links) -> links.forEach(link -> {
            Seen from = switches.get(slot);
            Seen to = PciAddress.parse(link.value("target"))
                    .map(address -> switches.get(new Slot(slot.host(), address)))
                    .orElse(null);
            if (from == null || to == null || from.part().equals(to.part())) {
                topology.warn("line " + link.line() + ": <pcilink> to an unknown switch, left out");
            } else {
                Link local = NcclSeat.local();
                topology.link(from.part(), to.part(), new Link(LinkType.PCI, local.gigabytesPerSecond(), 1));
            }
        }));
    }

    private static Processor processor(XmlElement cpu) {
        return new Processor(
                cpu.value("arch"),
                cpu.value("vendor"),
                cpu.number("familyid", -1, NcclValues.FAMILY, -1),
                cpu.number("modelid", -1, NcclValues.MODEL, -1));
    }

    private static boolean contains(XmlElement element, String name) {
        for (XmlElement child : element.children()) {
            if (child.name().equals(name) || contains(child, name)) {
                return true;
            }
        }
        return false;
    }
}
