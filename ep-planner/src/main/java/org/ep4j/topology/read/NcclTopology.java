package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuArchitectures;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/**
 * Reads what NCCL and RCCL write with {@code NCCL_TOPO_DUMP_FILE} and take with {@code NCCL_TOPO_FILE}: the syntax of
 * {@code graph/xml.cc}. Templates of cloud providers hold PCI devices and neither {@code gpu} nor {@code net} elements; their
 * GPUs and NICs are recognised by their class code.
 *
 * <p>GPUs are numbered when all of a host are known: by {@code dev}, which is the number that {@code nvidia-smi} and settings
 * use and NCCL takes from NVML; without it in the order of ranks, then of bus ids. Ranks are the order in which a launcher
 * started processes, which may differ from the order of devices.
 *
 * <p>All NVSwitches are one, also those of several hosts in one file: NCCL joins hosts in a file only when they are one NVLink
 * domain.
 */
final class NcclTopology {
    /** Base classes of PCI devices. Instinct modules are processing accelerators (12). */
    private static final int NETWORK = 0x02;

    private static final int DISPLAY = 0x03;
    private static final int ACCELERATOR = 0x12;

    private static final String SWITCH_CLASS = "0x068000";
    private static final String PROCESSOR_CLASS = "0x068001";

    /** Target of a link whose other end NCCL cannot see: in VMs, and with the switch trays of NVLink 5. */
    private static final String HIDDEN = "fffffff:";

    /** Name of the NVLink domain of a file with several hosts. */
    private static final String CLIQUE = "unnamed/0";

    /** Numbers of RCCL before it wrote names. */
    private static final Map<String, String> OLD_NAMES = Map.of("910", "gfx90a");

    private static final int UNNUMBERED = 1 << 20;
    private static final Comparator<FoundGpu> BY_RANK =
            Comparator.comparingInt((FoundGpu found) -> number(found, "rank")).thenComparing(FoundGpu::address);

    private final XmlElement system;
    private final Topology.Builder topology;
    private final boolean gpusByClass;
    private final boolean nicsByClass;
    private final Map<String, Integer> hosts = new LinkedHashMap<>();
    private final Map<Integer, Map<Integer, NumaNode>> nodes = new LinkedHashMap<>();
    private final Map<BusId, FoundSwitch> switches = new LinkedHashMap<>();
    private final Map<BusId, Integer> devices = new HashMap<>();
    private final List<FoundGpu> found = new ArrayList<>();
    private final Map<Gpu, FoundGpu> gpus = new LinkedHashMap<>();
    private final Map<BusId, Gpu> gpuAt = new HashMap<>();
    private final Map<Gpu, Map<Gpu, Integer>> direct = new LinkedHashMap<>();
    private final NcclNics nics;

    private NcclTopology(XmlElement system, boolean rates) {
        this.system = system;
        topology = Topology.builder(system.source());
        gpusByClass = !contains(system, "gpu");
        nicsByClass = !contains(system, "net");
        nics = new NcclNics(topology, rates);
    }

    /** A bus id on a host: bus ids repeat from host to host. */
    private record BusId(int host, PciAddress address) {}

    private record FoundSwitch(PciSwitch part, Part parent, XmlElement pci) {}

    /** A GPU that is not numbered yet; {@code gpu} has no attributes in templates. */
    private record FoundGpu(XmlElement pci, XmlElement gpu, PciAddress address, Parent parent) {
        /** Partitions of an AMD GPU are functions of its PCI device. */
        BusId card() {
            return new BusId(parent.host(), address.card());
        }

        boolean usesSwitch() {
            return gpu.children("nvlink").stream().anyMatch(NcclTopology::toSwitch);
        }
    }

    /** Parent of an element: its NUMA node, and the switch or NUMA node right above it. */
    record Parent(NumaNode node, Part part) {
        int host() {
            return node.host();
        }
    }

    static Topology read(String source, String text) {
        return read(source, text, true);
    }

    /** Reads a text; warns of speeds of NICs that cannot be read if {@code rates}. */
    static Topology read(String source, String text, boolean rates) {
        XmlElement system = XmlElement.read(source, text);
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
        switches.forEach((busId, from) -> from.pci().children("pcilink").forEach(link -> pciLink(busId, from, link)));
        numberGpus();
        connectGpus();
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
        children(cpu, new Parent(node, node));
    }

    private static Processor processor(XmlElement cpu) {
        return new Processor(
                cpu.value("arch"),
                cpu.value("vendor"),
                cpu.number("familyid", -1, NcclValues.FAMILY, -1),
                cpu.number("modelid", -1, NcclValues.MODEL, -1));
    }

    private void children(XmlElement element, Parent parent) {
        for (XmlElement child : element.children()) {
            if (child.name().equals("pci")) {
                pci(child, parent);
            } else if (child.name().equals("nic") && element.name().equals("cpu")) {
                nics.add(child, parent);
            }
        }
    }

    private void pci(XmlElement pci, Parent parent) {
        PciAddress address = PciAddress.parse(pci.value("busid"))
                .orElseThrow(() -> pci.wrong("<pci> has the bus id " + Faults.quote(pci.value("busid"))
                        + "; it must be like 0000:0f:00.0 (domain:bus:device.function, hexadecimal)"));
        if (device(pci, address, parent)) {
            // A NIC may hang below a GPU (HPE EX235a); RCCL takes the GPU as a bridge. Its parent does for the way.
            children(pci, parent);
        } else if (!pci.children("pci").isEmpty()) {
            children(pci, new Parent(parent.node(), bridge(pci, address, parent)));
        } else {
            topology.warn("line " + pci.line() + ": PCI device " + address + " is no GPU, NIC or switch; left out");
        }
    }

    /** Adds a GPU or NIC; false when the element is neither. What is inside decides, and only then the class code. */
    private boolean device(XmlElement pci, PciAddress address, Parent parent) {
        List<XmlElement> inside = pci.children("gpu");
        List<XmlElement> cards = pci.children("nic");
        int base = NcclValues.id(pci).classCode() >> 16;
        boolean display = base == DISPLAY || base == ACCELERATOR;
        if (inside.isEmpty() && cards.isEmpty() && !display && base != NETWORK) {
            return false;
        }
        Integer other = devices.putIfAbsent(new BusId(parent.host(), address), pci.line());
        if (other != null) {
            throw pci.wrong("bus id " + address + " is used a second time; line " + other + " has it too");
        }
        inside.forEach(gpu -> addGpu(pci, gpu, address, parent));
        cards.forEach(card -> nics.add(pci, card, address, parent));
        if (inside.isEmpty() && cards.isEmpty()) {
            if (display && gpusByClass) {
                addGpu(pci, pci.empty("gpu"), address, parent);
            } else if (base == NETWORK && nicsByClass) {
                nics.add(pci, address, parent);
            }
        }
        return true;
    }

    private PciSwitch bridge(XmlElement pci, PciAddress address, Parent parent) {
        BusId busId = new BusId(parent.host(), address);
        FoundSwitch seen = switches.get(busId);
        if (seen != null) {
            if (!seen.parent().equals(parent.part())) {
                throw pci.wrong("switch " + address + " appears a second time, under another parent than on line "
                        + seen.pci().line());
            }
            return seen.part();
        }
        PciSwitch part = new PciSwitch(parent.host(), address, NcclValues.id(pci));
        switches.put(busId, new FoundSwitch(part, parent.part(), pci));
        topology.add(part).link(parent.part(), part, NcclValues.link(pci));
        return part;
    }

    /** A link between Broadcom switches past their common parent. */
    private void pciLink(BusId busId, FoundSwitch from, XmlElement link) {
        Optional<PciSwitch> to = PciAddress.parse(link.value("target"))
                .map(address -> switches.get(new BusId(busId.host(), address)))
                .map(FoundSwitch::part)
                .filter(part -> !part.equals(from.part()));
        to.ifPresentOrElse(
                part -> topology.link(from.part(), part, NcclValues.LOCAL),
                () -> topology.warn("line " + link.line() + ": <pcilink> to an unknown switch, left out"));
    }

    private void addGpu(XmlElement pci, XmlElement gpu, PciAddress address, Parent parent) {
        gpu.limit(found.size() + 1, Limits.GPUS, "GPUs");
        found.add(new FoundGpu(pci, gpu, address, parent));
    }

    private void numberGpus() {
        boolean fused = found.stream()
                        .filter(FoundGpu::usesSwitch)
                        .map(gpu -> gpu.parent().host())
                        .distinct()
                        .count()
                > 1;
        Map<BusId, Long> cards = found.stream().collect(Collectors.groupingBy(FoundGpu::card, Collectors.counting()));
        Map<Integer, List<FoundGpu>> onHosts = new TreeMap<>();
        found.forEach(gpu -> onHosts.computeIfAbsent(gpu.parent().host(), k -> new ArrayList<>())
                .add(gpu));
        onHosts.values()
                .forEach(host -> numbered(host).forEach((index, one) -> {
                    boolean inClique = fused && one.usesSwitch();
                    boolean divided = vendor(one) == GpuVendor.AMD && cards.getOrDefault(one.card(), 1L) > 1;
                    Gpu gpu = gpu(one, index)
                            .clique(inClique ? CLIQUE : "")
                            .card(divided ? one.card().address().toString() : "")
                            .build();
                    topology.add(gpu).link(one.parent().part(), gpu, NcclValues.link(one.pci()));
                    coherent(one, gpu);
                    gpus.put(gpu, one);
                    gpuAt.putIfAbsent(new BusId(gpu.host(), one.address()), gpu);
                }));
    }

    private static Map<Integer, FoundGpu> numbered(List<FoundGpu> host) {
        Map<Integer, FoundGpu> numbered = new TreeMap<>();
        host.forEach(gpu -> numbered.put(number(gpu, "dev"), gpu));
        // Files that were put together by hand repeat numbers, or lack some.
        if (numbered.size() < host.size() || numbered.containsKey(UNNUMBERED)) {
            numbered.clear();
            host.stream().sorted(BY_RANK).forEach(gpu -> numbered.put(numbered.size(), gpu));
        }
        return numbered;
    }

    private static int number(FoundGpu found, String key) {
        return found.gpu().number(key, 0, UNNUMBERED - 1, UNNUMBERED);
    }

    private Gpu.Builder gpu(FoundGpu one, int index) {
        PciId id = NcclValues.id(one.pci());
        GpuVendor vendor = vendor(one);
        return Gpu.builder(one.parent().host(), index, vendor)
                .address(Optional.of(one.address()))
                .id(id)
                .architecture(architecture(one.gpu(), id, vendor))
                .numa(one.parent().node().number())
                .gpuDirect(NcclValues.gpuDirect(one.gpu()));
    }

    private GpuVendor vendor(FoundGpu one) {
        PciId id = NcclValues.id(one.pci());
        if (id.vendor() >= 0) {
            return GpuArchitectures.vendor(id.vendor());
        }
        boolean rccl = system.value("version").equals("2");
        return rccl || one.gpu().attribute("gcn").isPresent() ? GpuVendor.AMD : GpuVendor.NVIDIA;
    }

    /** RCCL writes the number of compute units into {@code sm}, and the architecture into {@code gcn}. */
    private static String architecture(XmlElement gpu, PciId id, GpuVendor vendor) {
        String gcn = gpu.value("gcn");
        if (!gcn.isEmpty()) {
            return gcn.startsWith("gfx") ? gcn : OLD_NAMES.getOrDefault(gcn, "gfx" + gcn);
        }
        int capability = gpu.number("sm", 1, 999, -1);
        return vendor == GpuVendor.NVIDIA && capability > 0 ? "sm_" + capability : GpuArchitectures.of(id);
    }

    private void coherent(FoundGpu one, Gpu gpu) {
        for (XmlElement link : one.gpu().children("c2c")) {
            int count = link.number("count", 1, Limits.GPU_LINKS, 1);
            double each = link.number("bw", 1, Limits.LINK_MEGABYTES, 0) / 1000.0;
            topology.link(gpu, one.parent().node(), new Link(LinkType.C2C, each * count, count));
        }
    }

    private static boolean toSwitch(XmlElement link) {
        return link.number("count").orElse(0) > 0
                && (link.value("tclass").startsWith(SWITCH_CLASS)
                        || link.value("target").startsWith(HIDDEN));
    }

    private void connectGpus() {
        GpuSwitch shared =
                new GpuSwitch(gpus.keySet().stream().mapToInt(Gpu::host).min().orElse(0), "NVSwitch");
        gpus.forEach((gpu, one) -> {
            one.gpu().children("nvlink").forEach(link -> nvlink(gpu, one, link, shared));
            one.gpu().children("xgmi").forEach(link -> peer(gpu, link));
        });
        GpuPackages packages = new GpuPackages(topology, List.copyOf(gpus.keySet()));
        direct.forEach((from, links) -> links.forEach((to, count) -> direct(from, to, count, packages)));
        packages.finish();
    }

    private void nvlink(Gpu gpu, FoundGpu one, XmlElement link, GpuSwitch shared) {
        int count = link.number("count", 0, Limits.GPU_LINKS, 0);
        Link bundle = new Link(LinkType.NVLINK, count * LinkBandwidths.nvlink(capability(gpu)), count);
        if (count > 0 && toSwitch(link)) {
            topology.add(shared).link(gpu, shared, bundle);
        } else if (count > 0 && link.value("tclass").startsWith(PROCESSOR_CLASS)) {
            topology.link(gpu, one.parent().node(), bundle);
        } else {
            peer(gpu, link);
        }
    }

    private void peer(Gpu gpu, XmlElement link) {
        int count = link.number("count", 0, Limits.GPU_LINKS, 0);
        Optional<Gpu> target = PciAddress.parse(link.value("target"))
                .flatMap(address -> Optional.ofNullable(gpuAt.get(new BusId(gpu.host(), address))));
        if (count == 0) {
            topology.warn("line " + link.line() + ": " + gpu.name() + " has a <" + link.name() + "> with count "
                    + Faults.quote(link.value("count")) + ", which is no link");
        } else if (target.isEmpty() || target.get().equals(gpu)) {
            topology.warn("line " + link.line() + ": " + gpu.name() + " has a <" + link.name() + "> to "
                    + Faults.quote(link.value("target")) + ", which is no other GPU of the file; the link is left out");
        } else {
            direct.computeIfAbsent(gpu, any -> new LinkedHashMap<>()).merge(target.get(), count, Integer::sum);
        }
    }

    /** Both ends name a link. Where only one does, or they differ, the larger count is right: a part was not seen. */
    private void direct(Gpu from, Gpu to, int count, GpuPackages packages) {
        int back = direct.getOrDefault(to, Map.of()).getOrDefault(from, 0);
        boolean mine = count > back || (count == back && from.index() < to.index());
        if (mine) {
            boolean xgmi = from.vendor() == GpuVendor.AMD;
            double each = xgmi ? LinkBandwidths.xgmi(from.architecture()) : LinkBandwidths.nvlink(capability(from));
            packages.join(from, to, new Link(xgmi ? LinkType.XGMI : LinkType.NVLINK, each * count, count));
        }
    }

    private static int capability(Gpu gpu) {
        String architecture = gpu.architecture();
        return architecture.matches("sm_[0-9]{1,3}") ? Integer.parseInt(architecture.substring(3)) : -1;
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
