package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringTokenizer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.model.Gid;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuArchitectures;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicFamilies;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/**
 * Reads what {@code lstopo --of xml} writes, of hwloc 1, 2 and 3. The file lists every PCIe port, so host bridges are known and
 * distances go down to {@code NODE}. NICs are devices of verbs, and cards that are made for RDMA without verbs (Slingshot);
 * plain network interfaces are left out, since a machine has many that carry no traffic of applications.
 *
 * <p>An upstream port stands for its switch; root ports and downstream ports vanish. A root port with several devices counts as
 * a switch, since these are one card.
 *
 * <p>NVLink and xGMI are in the matrices that hwloc's NVML and RSMI backends add. Bandwidths there are in MB/s and in one
 * direction.
 */
final class HwlocTopology {
    /** Devices whose numbers count as the order of use, when every GPU has one. */
    private static final List<String> NUMBERED = List.of("nvml", "rsmi", "cuda", "ze");

    /** Devices whose name a GPU gets. */
    private static final List<String> NAMED = List.of("cuda", "nvml", "rsmi", "ze", "opencl", "renderD", "card");

    private static final Pattern NAME = Pattern.compile("([a-zA-Z]+)([0-9]{1,6})(?:d([0-9]{1,6}))?");

    /** GB/s of one NVLink from Volta to Hopper, as hwloc reports it; the number of links is worked out from it. */
    private static final double NVLINK = 25;

    /** GPUs of one hive; AMD joins 8, and 64 partitions of them. */
    private static final int HIVE = 64;

    /** Ports that a device of verbs is searched for. */
    private static final int PORTS = 16;

    private final HwlocFile file;
    private final Topology.Builder topology;
    private final int host;
    private final Map<Integer, NumaNode> nodes = new LinkedHashMap<>();
    private final Map<String, List<NumaNode>> known = new HashMap<>();
    private final Set<PciAddress> addresses = new HashSet<>();
    private final Set<String> bridges = new HashSet<>();
    private final Set<String> nicNames = new HashSet<>();
    private final List<FoundGpu> found = new ArrayList<>();

    /** GPUs by the names of their objects in matrices. */
    private final Map<String, Gpu> gpus = new LinkedHashMap<>();

    /** Part that an object hangs below, PCIe ports up to its host bridge, and its NUMA node; -1 when unknown. */
    private record Parent(Part part, int depth, int numa) {}

    /** A GPU that is not numbered yet; a partition has one device, its own. */
    private record FoundGpu(
            XmlElement pci, List<XmlElement> devices, PciAddress address, Parent parent, boolean partition) {}

    /** A matrix of distances, row by row, between objects such as {@code OSDev:701}. */
    private record Distances(List<String> objects, List<Double> values) {
        double value(int row, int column) {
            return values.get(row * objects.size() + column);
        }
    }

    private HwlocTopology(HwlocFile file) {
        this.file = file;
        topology = Topology.builder(file.root().source());
        host = topology.host(file.info("HostName"));
    }

    static Topology read(String source, String text) {
        XmlElement root = XmlElement.read(source, text);
        if (!root.name().equals("topology")) {
            throw root.wrong("the root element is " + Faults.quote(root.name())
                    + "; a topology of hwloc begins with <topology>, one of NCCL or RCCL with <system>");
        }
        String version = root.attribute("version").orElse("1");
        if (!version.matches("[123](\\..*)?")) {
            throw root.wrong("the version of the topology is " + Faults.quote(version)
                    + "; known versions are 1, 2 and 3 of hwloc");
        }
        if (root.children("object").isEmpty()) {
            throw root.wrong("there is no <object> in <topology>, so the file describes no machine");
        }
        return new HwlocTopology(new HwlocFile(root, version.startsWith("3"))).build();
    }

    private Topology build() {
        Processor processor = processor();
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
                object.limit(nodes.size(), Limits.NUMA_NODES, "NUMA nodes");
            }
        }
        if (nodes.isEmpty()) {
            nodes.put(-1, new NumaNode(host, -1, processor));
        }
        nodes.values().forEach(topology::add);
        NumaNodes.connect(topology, List.copyOf(nodes.values()));
        file.root().children("object").forEach(object -> walk(object, ""));
        numberGpus();
        warnOfLostGpus();
        connectGpus();
        file.warnings().forEach(topology::warn);
        return topology.build();
    }

    private Processor processor() {
        String architecture = file.info("Architecture");
        return new Processor(
                architecture.startsWith("ppc64") ? "ppc64" : architecture.equals("aarch64") ? "arm64" : architecture,
                file.info("CPUVendor"),
                NcclValues.family(number(file.info("CPUFamilyNumber"))),
                number(file.info("CPUModelNumber")));
    }

    private static int number(String text) {
        return text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : -1;
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
            below(object, new Parent(node, 0, node.number()));
        } else {
            object.children("object").forEach(child -> walk(child, near));
        }
    }

    /** NUMA nodes of a set; all where the file does not give it. */
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
        object.children("object").forEach(child -> below(child, new Parent(bridge, 0, numa)));
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

    private void below(XmlElement object, Parent parent) {
        String type = HwlocFile.type(object);
        if ((!type.equals("Bridge") && !type.equals("PCIDev")) || !file.useful(object)) {
            return;
        }
        PciAddress address = HwlocFile.address(object);
        if (!addresses.add(address)) {
            throw object.wrong("PCI address " + address + " appears a second time");
        }
        if (type.equals("Bridge")) {
            Parent inside = bridge(object, address, parent);
            object.children("object").forEach(child -> below(child, inside));
        } else if (file.gpu(object)) {
            gpus(object, address, parent);
        } else {
            nics(object, address, parent);
        }
    }

    private Parent bridge(XmlElement object, PciAddress address, Parent parent) {
        int depth = parent.depth() + 1;
        List<XmlElement> useful = new ArrayList<>(object.children("object"));
        useful.removeIf(child -> !file.useful(child));
        boolean upstream = depth % 2 == 0;
        boolean card = depth == 1 && useful.size() > 1;
        if (!upstream && !card) {
            return new Parent(parent.part(), depth, parent.numa());
        }
        PciSwitch part = new PciSwitch(host, address, HwlocFile.id(object));
        topology.add(part).link(parent.part(), part, new Link(LinkType.PCI, HwlocFile.linkSpeed(object), 1));
        return new Parent(part, depth, parent.numa());
    }

    /** Partitions of an AMD GPU are devices of ROCm SMI on one PCI device. */
    private void gpus(XmlElement pci, PciAddress address, Parent parent) {
        List<XmlElement> devices = HwlocFile.devices(pci);
        List<XmlElement> partitions = devices.stream()
                .filter(device -> number(List.of(device), "rsmi").isPresent())
                .toList();
        if (partitions.size() > 1) {
            partitions.forEach(one -> gpu(new FoundGpu(pci, List.of(one), address, parent, true)));
        } else {
            gpu(new FoundGpu(pci, devices, address, parent, false));
        }
    }

    private void gpu(FoundGpu gpu) {
        gpu.pci().limit(found.size() + 1, Limits.GPUS, "GPUs");
        found.add(gpu);
    }

    /** Numbers the GPUs when all are known, and adds them. */
    private void numberGpus() {
        List<FoundGpu> ordered = found.stream().sorted(order()).toList();
        for (int i = 0; i < ordered.size(); i++) {
            FoundGpu one = ordered.get(i);
            Gpu gpu = gpu(one, i);
            Link link = new Link(LinkType.PCI, HwlocFile.linkSpeed(one.pci()), 1);
            topology.add(gpu).link(one.parent().part(), gpu, link);
            gpus.putIfAbsent(key(one.pci()), gpu);
            one.devices().forEach(device -> gpus.put(key(device), gpu));
        }
    }

    private Comparator<FoundGpu> order() {
        Comparator<FoundGpu> byBus = Comparator.comparing(FoundGpu::address);
        for (String prefix : NUMBERED) {
            if (found.stream().allMatch(gpu -> number(gpu.devices(), prefix).isPresent())) {
                return Comparator.comparingInt(
                                (FoundGpu gpu) -> number(gpu.devices(), prefix).orElse(0))
                        .thenComparing(byBus);
            }
        }
        return byBus;
    }

    private Gpu gpu(FoundGpu gpu, int index) {
        PciId id = HwlocFile.id(gpu.pci());
        return Gpu.builder(host, index, GpuArchitectures.vendor(id.vendor()))
                .name(name(gpu.devices(), index))
                .address(Optional.of(gpu.address()))
                .id(id)
                .architecture(GpuArchitectures.of(id))
                .model(model(gpu))
                .numa(gpu.parent().numa())
                .card(gpu.partition() ? gpu.address().toString() : "")
                .build();
    }

    private static String model(FoundGpu gpu) {
        return gpu.devices().stream()
                .map(device -> HwlocFile.info(device, "GPUModel"))
                .filter(model -> !model.isEmpty())
                .findFirst()
                .orElse(HwlocFile.info(gpu.pci(), "PCIDevice"));
    }

    private static String name(List<XmlElement> devices, int index) {
        return NAMED.stream()
                .flatMap(prefix -> named(devices, prefix))
                .map(Matcher::group)
                .findFirst()
                .orElse("GPU" + index);
    }

    private static Optional<Integer> number(List<XmlElement> devices, String prefix) {
        return named(devices, prefix)
                .map(name -> Integer.valueOf(name.group(2)))
                .findFirst();
    }

    private static Stream<Matcher> named(List<XmlElement> devices, String prefix) {
        return devices.stream()
                .map(device -> NAME.matcher(device.value("name")))
                .filter(name -> name.matches() && name.group(1).equals(prefix));
    }

    private void warnOfLostGpus() {
        String lost = file.objects().stream()
                .filter(object -> HwlocFile.type(object).equals("OSDev")
                        && number(List.of(object), "rsmi").isPresent()
                        && !gpus.containsKey(key(object)))
                .map(object -> object.value("name"))
                .collect(Collectors.joining(", "));
        if (!lost.isEmpty()) {
            topology.warn("the file names the GPUs " + lost
                    + ", but has no PCI device of a GPU for them; these GPUs are left out");
        }
    }

    /** Name of an object in a matrix. */
    private static String key(XmlElement object) {
        return HwlocFile.type(object) + ":" + object.value("gp_index");
    }

    private void connectGpus() {
        GpuPackages packages =
                new GpuPackages(topology, gpus.values().stream().distinct().toList());
        distances("NVLinkBandwidth").ifPresent(this::nvlink);
        Optional<Distances> xgmi = distances("XGMIBandwidth");
        Optional<Distances> hops = distances("XGMIHops");
        if (xgmi.isPresent()) {
            xgmi(xgmi.get(), hops, packages);
        } else {
            hives(packages);
        }
        packages.finish();
    }

    /** Matrix of a name such as {@code NVLinkBandwidth}; empty when the file has none. */
    private Optional<Distances> distances(String name) {
        return file.root().children().stream()
                .filter(element -> element.name().startsWith("distances2")
                        && element.value("name").equals(name))
                .findFirst()
                .map(element -> distances(element, name));
    }

    private static Distances distances(XmlElement element, String name) {
        int size = element.number("nbobjs", 1, Limits.GPUS, -1);
        if (size < 0) {
            throw element.wrong(name + " is of " + Faults.quote(element.value("nbobjs")) + " objects; 1 to "
                    + Limits.GPUS + " are understood");
        }
        // In a matrix over several kinds of object each index says its kind.
        boolean mixed = element.name().endsWith("hetero");
        List<String> objects = new ArrayList<>();
        for (String index : words(element, "indexes", size)) {
            objects.add(mixed ? index : element.value("type") + ":" + index);
        }
        List<String> words = words(element, "u64values", size * size);
        if (objects.size() != size || words.size() != size * size) {
            throw element.wrong(name + " of " + size + " objects has " + objects.size() + " indexes and " + words.size()
                    + " values; there must be " + size + " and " + size * size);
        }
        List<Double> values = words.stream().map(word -> value(element, word)).toList();
        return new Distances(objects, values);
    }

    /** Words of all elements of a name, and at most one more than there should be. */
    private static List<String> words(XmlElement element, String name, int most) {
        List<String> words = new ArrayList<>();
        for (XmlElement part : element.children(name)) {
            StringTokenizer tokens = new StringTokenizer(part.text());
            while (tokens.hasMoreTokens() && words.size() <= most) {
                words.add(tokens.nextToken());
            }
        }
        return words;
    }

    /** Bandwidth in megabytes a second; from a device to itself it is a million. */
    private static double value(XmlElement element, String word) {
        if (!word.matches("[0-9]{1,15}") || Double.parseDouble(word) > Limits.LINK_MEGABYTES) {
            throw element.wrong("the matrix holds " + Faults.quote(word) + "; expected a number from 0 to "
                    + Limits.LINK_MEGABYTES);
        }
        return Double.parseDouble(word);
    }

    private void nvlink(Distances matrix) {
        Set<String> switches = new HashSet<>();
        file.objects().stream().filter(file::nvswitch).forEach(object -> switches.add(key(object)));
        GpuSwitch shared = new GpuSwitch(0, "NVSwitch");
        List<String> objects = matrix.objects();
        for (int i = 0; i < objects.size(); i++) {
            Gpu gpu = gpus.get(objects.get(i));
            for (int j = 0; j < objects.size() && gpu != null; j++) {
                Gpu other = gpus.get(objects.get(j));
                double width = matrix.value(i, j) / 1000;
                if (width > 0 && switches.contains(objects.get(j))) {
                    topology.add(shared).link(gpu, shared, bundle(width));
                } else if (other != null && i < j && !other.equals(gpu)) {
                    double both = Math.max(width, matrix.value(j, i) / 1000);
                    if (both > 0) {
                        topology.link(gpu, other, bundle(both));
                    }
                }
            }
        }
    }

    private static Link bundle(double width) {
        return new Link(LinkType.NVLINK, width, (int)
                Math.max(1, Math.min(Limits.GPU_LINKS, Math.round(width / NVLINK))));
    }

    private void xgmi(Distances matrix, Optional<Distances> hops, GpuPackages packages) {
        List<String> objects = matrix.objects();
        boolean routed = gpus.values().stream()
                        .distinct()
                        .filter(HwlocTopology::hasFewLinks)
                        .count()
                > 2;
        boolean same = hops.filter(other -> other.objects().equals(objects)).isPresent();
        if (routed && matrix.values().stream().allMatch(width -> width > 0)) {
            topology.assume(
                    "every two GPUs are joined by xGMI links of their own, because the file gives 1 hop for them; hwloc"
                            + " gets the hops from ROCm SMI, which reports 1 for routed pairs too (the weights in a recording of /sys, or"
                            + " of rocm-smi --showtopo, show the difference)");
        }
        for (int i = 0; i < objects.size(); i++) {
            for (int j = i + 1; j < objects.size(); j++) {
                Gpu gpu = gpus.get(objects.get(i));
                Gpu other = gpus.get(objects.get(j));
                boolean neighbours = !same || hops.orElseThrow().value(i, j) == 1;
                double width = matrix.value(i, j) / 1000;
                if (gpu != null && other != null && !gpu.equals(other) && neighbours && width > 0) {
                    packages.join(gpu, other, new Link(LinkType.XGMI, width, 1));
                }
            }
        }
    }

    /** MI200 has links to some of the other GPUs; the newer ones are joined each to each. */
    private static boolean hasFewLinks(Gpu gpu) {
        return gpu.architecture().equals("gfx90a");
    }

    /** GPUs of one hive reach each other over xGMI. Without a matrix, neither neighbours nor bandwidths are known. */
    private void hives(GpuPackages packages) {
        Map<String, Set<Gpu>> hives = new LinkedHashMap<>();
        for (XmlElement object : file.objects()) {
            Gpu gpu = gpus.get(key(object));
            if (gpu != null && !hive(object).isEmpty()) {
                hives.computeIfAbsent(hive(object), any -> new LinkedHashSet<>())
                        .add(gpu);
            }
        }
        hives.forEach((name, members) -> {
            if (members.size() > HIVE) {
                topology.warn("hive " + name + " has " + members.size() + " GPUs; no known hive has more than " + HIVE);
                return;
            }
            List<Gpu> all = List.copyOf(members);
            for (int i = 0; i < all.size(); i++) {
                for (int j = i + 1; j < all.size(); j++) {
                    packages.join(all.get(i), all.get(j), new Link(LinkType.XGMI, 0, 1));
                }
            }
        });
    }

    private static String hive(XmlElement device) {
        String hive = HwlocFile.info(device, "XGMIHiveID");
        return hive.equals("0") ? "" : hive;
    }

    /** Each device of verbs is a NIC. */
    private void nics(XmlElement pci, PciAddress address, Parent parent) {
        List<XmlElement> devices = file.verbs(pci);
        // An interface can be matched to a port where there is one of each.
        String netdev = devices.size() == 1 ? file.netdev(pci).orElse("") : "";
        for (XmlElement device : devices) {
            String name = device.value("name");
            String guid = IbvDevice.guid(HwlocFile.info(device, "NodeGUID"));
            nic(pci, address, parent, name.isBlank() ? "nic@" + address : name, ports(pci, device, netdev), guid);
        }
        if (devices.isEmpty()) {
            nic(pci, address, parent, "nic@" + address, List.of(), "");
        }
    }

    private void nic(XmlElement pci, PciAddress address, Parent parent, String name, List<NicPort> ports, String guid) {
        pci.limit(nicNames.size() + 1, Limits.NICS, "NICs");
        if (!nicNames.add(name)) {
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
                        parent.numa(),
                        Optional.empty(),
                        NicFamilies.compute(id),
                        ports)
                .withGuid(guid);
        topology.add(nic).link(parent.part(), nic, new Link(LinkType.PCI, HwlocFile.linkSpeed(pci), 1));
    }

    private static List<NicPort> ports(XmlElement pci, XmlElement device, String netdev) {
        Map<String, String> infos = HwlocFile.infos(device);
        List<Integer> numbers = IntStream.rangeClosed(1, PORTS)
                .filter(number -> infos.containsKey("Port" + number + "State"))
                .boxed()
                .toList();
        String ofPort = numbers.size() == 1 ? netdev : "";
        PciId id = HwlocFile.id(pci);
        NicReach.LinkLayer layer =
                NicFamilies.of("", id) == NicFamily.EFA ? NicReach.LinkLayer.UNSPECIFIED : NicFamilies.linkLayer(id);
        return numbers.stream()
                .map(number -> port(number, infos, layer, ofPort))
                .toList();
    }

    private static NicPort port(int number, Map<String, String> infos, NicReach.LinkLayer layer, String netdev) {
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
