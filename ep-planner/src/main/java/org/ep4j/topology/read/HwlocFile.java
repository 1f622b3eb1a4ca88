package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.GpuArchitectures;
import org.ep4j.topology.model.NicFamilies;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;

/** The objects of a hwloc topology, and what kind of device each is. */
final class HwlocFile {
    private static final Pattern PCI_TYPE = Pattern.compile(
            "([0-9a-f]{4}) \\[([0-9a-f]{4}):([0-9a-f]{4})\\] \\[([0-9a-f]{4}):([0-9a-f]{4})\\].*",
            Pattern.CASE_INSENSITIVE);

    /** The class is the only part of {@code pci_type} that is always there. */
    private static final Pattern PCI_CLASS = Pattern.compile("03[0-9a-fA-F]{2}\\b.*");

    /** GB/s of a PCIe link that no machine reaches. */
    private static final int FASTEST = 10_000;

    /** Devices that a warning names. */
    private static final int SHOWN = 16;

    private static final Pattern GPU_DEVICE = Pattern.compile("(cuda|nvml|rsmi|ze)[0-9]+");

    /** Trainium and Inferentia of AWS, which say that they are system peripherals. */
    private static final Pattern NEURON = Pattern.compile("1d0f:7[0-9a-f]64");

    private final XmlElement root;
    private final boolean third;
    private final List<XmlElement> objects = new ArrayList<>();
    private final Set<NicFamily> named;

    /** By identity: comparing elements would compare all below them. */
    private final Set<XmlElement> useful = Collections.newSetFromMap(new IdentityHashMap<>());

    HwlocFile(XmlElement root, boolean third) {
        this.root = root;
        this.third = third;
        gather(root);
        named = objects.stream()
                .filter(object ->
                        type(object).equals("PCIDev") && !verbs(object).isEmpty())
                .map(object -> NicFamilies.of("", id(object)))
                .collect(Collectors.toSet());
        mark(root);
    }

    private void gather(XmlElement parent) {
        for (XmlElement child : parent.children("object")) {
            objects.add(child);
            gather(child);
        }
    }

    XmlElement root() {
        return root;
    }

    /** All objects, parents before children. */
    List<XmlElement> objects() {
        return objects;
    }

    static String type(XmlElement object) {
        return object.value("type");
    }

    /** All {@code info} of an object by name; the first of a name counts. */
    static Map<String, String> infos(XmlElement object) {
        Map<String, String> infos = new HashMap<>();
        object.children("info").forEach(info -> infos.putIfAbsent(info.value("name"), info.value("value")));
        return infos;
    }

    /** Value of an {@code info} of an object, empty when there is none. */
    static String info(XmlElement object, String name) {
        return object.children("info").stream()
                .filter(info -> info.value("name").equals(name))
                .map(info -> info.value("value"))
                .findFirst()
                .orElse("");
    }

    /** Value of the first {@code info} in the file, empty when there is none. */
    String info(String name) {
        return Stream.concat(Stream.of(root), objects.stream())
                .map(object -> info(object, name))
                .filter(value -> !value.isEmpty())
                .findFirst()
                .orElse("");
    }

    static PciAddress address(XmlElement object) {
        return PciAddress.parse(object.value("pci_busid"))
                .orElseThrow(() -> object.wrong("a " + type(object) + " has the pci_busid "
                        + Faults.quote(object.value("pci_busid")) + "; it must be like 0000:0f:00.0"));
    }

    static PciId id(XmlElement object) {
        Matcher type = PCI_TYPE.matcher(object.value("pci_type"));
        if (!type.matches()) {
            return PciId.UNKNOWN;
        }
        return new PciId(hex(type, 2), hex(type, 3), hex(type, 4), hex(type, 5), hex(type, 1) << 8);
    }

    private static int hex(Matcher matcher, int group) {
        return Integer.parseInt(matcher.group(group), 16);
    }

    /** Bandwidth of the link above a PCI object in GB/s; 0 when unknown. */
    static double linkSpeed(XmlElement object) {
        return speed(object).orElse(0);
    }

    private static OptionalDouble speed(XmlElement object) {
        try {
            double speed = Double.parseDouble(object.value("pci_link_speed"));
            return speed >= 0 && speed < FASTEST ? OptionalDouble.of(speed) : OptionalDouble.empty();
        } catch (NumberFormatException e) {
            return OptionalDouble.empty();
        }
    }

    /** Warnings about values that are odd, and do not keep the file from being read. */
    List<String> warnings() {
        List<String> warnings = new ArrayList<>();
        for (XmlElement object : objects) {
            if (!object.value("pci_link_speed").isBlank() && speed(object).isEmpty()) {
                warnings.add("line " + object.line() + ": the pci_link_speed is "
                        + Faults.quote(object.value("pci_link_speed")) + "; expected GB/s from 0 to " + FASTEST
                        + ", so it counts as unknown");
            }
        }
        List<String> unknown = objects.stream()
                .filter(object -> type(object).equals("PCIDev") && display(object) && !gpu(object))
                .map(object -> object.value("pci_busid"))
                .toList();
        if (!unknown.isEmpty()) {
            warnings.add(unknown.size()
                    + " display devices are not counted as GPUs, since the file does not give their"
                    + " vendor (pci_type without vendor, no CUDA, NVML, RSMI or Level Zero device): "
                    + String.join(", ", unknown.subList(0, Math.min(unknown.size(), SHOWN)))
                    + "; record the machine with NCCL_TOPO_DUMP_FILE, or run lstopo --of xml outside of containers, from a hwloc"
                    + " that was built with libpciaccess and NVML or ROCm SMI");
        }
        return warnings;
    }

    /** A display device without a vendor; boards have simple ones for consoles, whose vendors are known. */
    private static boolean display(XmlElement object) {
        Matcher kind = PCI_CLASS.matcher(object.value("pci_type"));
        return kind.matches() && id(object).vendor() <= 0;
    }

    /** Names that the operating system has for a PCI device. */
    static List<XmlElement> devices(XmlElement pci) {
        return pci.children("object").stream()
                .filter(object -> type(object).equals("OSDev"))
                .toList();
    }

    /** Devices of verbs on a PCI device. hwloc 3 has bits where earlier versions have numbers. */
    List<XmlElement> verbs(XmlElement pci) {
        return devices(pci).stream().filter(this::openFabrics).toList();
    }

    private boolean openFabrics(XmlElement device) {
        int type = device.number("osdev_type").orElse(-1);
        return third ? type > 0 && (type & 32) != 0 : type == 3;
    }

    /** Network interface of a PCI device, when there is just one. */
    Optional<String> netdev(XmlElement pci) {
        List<String> names = devices(pci).stream()
                .filter(device -> device.number("osdev_type").orElse(-1) == (third ? 16 : 2))
                .map(device -> device.value("name"))
                .toList();
        return names.size() == 1 ? Optional.of(names.get(0)) : Optional.empty();
    }

    boolean gpu(XmlElement object) {
        if (!type(object).equals("PCIDev")) {
            return false;
        }
        PciId id = id(object);
        int base = id.classCode() >> 16;
        boolean known = GpuArchitectures.vendor(id.vendor()) != GpuVendor.OTHER;
        return base == 0x12
                || (base == 0x03 && known)
                || NEURON.matcher(id.toString()).matches()
                || devices(object).stream()
                        .anyMatch(device ->
                                GPU_DEVICE.matcher(device.value("name")).matches());
    }

    boolean nvswitch(XmlElement object) {
        PciId id = id(object);
        return type(object).equals("PCIDev")
                && (object.value("subtype").equals("NVSwitch")
                        || (id.vendor() == 0x10de && id.classCode() == 0x068000));
    }

    /** Devices of verbs, or a card for RDMA when the file names no device of its family. */
    boolean nic(XmlElement object) {
        if (!type(object).equals("PCIDev")) {
            return false;
        }
        PciId id = id(object);
        NicFamily family = NicFamilies.of("", id);
        return !verbs(object).isEmpty() || (id.classCode() >> 16 == 0x02 && family.rdma() && !named.contains(family));
    }

    /** True when a GPU or NIC is at or below an object. */
    boolean useful(XmlElement object) {
        return useful.contains(object);
    }

    private boolean mark(XmlElement object) {
        boolean any = gpu(object) || nic(object);
        for (XmlElement child : object.children("object")) {
            any |= mark(child);
        }
        if (any) {
            useful.add(object);
        }
        return any;
    }
}
