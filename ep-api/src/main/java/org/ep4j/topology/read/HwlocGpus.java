package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuArchitectures;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciId;
import org.ep4j.topology.Topology;

/** The GPUs of a hwloc topology. They are numbered when all are known. */
final class HwlocGpus {
    /** Whose numbers count as the order of use, when every GPU has one. */
    private static final List<String> NUMBERED = List.of("nvml", "rsmi", "cuda", "ze");

    /** Whose name a GPU gets. */
    private static final List<String> NAMED = List.of("cuda", "nvml", "rsmi", "ze", "opencl", "renderD", "card");

    private static final Pattern NAME = Pattern.compile("([a-zA-Z]+)([0-9]{1,6})(?:d([0-9]{1,6}))?");

    private final HwlocFile file;
    private final Topology.Builder topology;
    private final int host;
    private final List<Found> all = new ArrayList<>();

    HwlocGpus(HwlocFile file, Topology.Builder topology, int host) {
        this.file = file;
        this.topology = topology;
        this.host = host;
    }

    /**
     * A GPU that is not numbered yet.
     *
     * @param devices its names; for a partition its name alone
     * @param partition whether other partitions are on the same PCI device
     */
    private record Found(
            XmlElement pci, List<XmlElement> devices, PciAddress address, HwlocTree.Seat seat, boolean partition) {}

    /** Partitions of an AMD GPU are devices of ROCm SMI on one PCI device. */
    void add(XmlElement pci, PciAddress address, HwlocTree.Seat seat) {
        List<XmlElement> devices = HwlocFile.devices(pci);
        List<XmlElement> partitions = devices.stream()
                .filter(device -> number(List.of(device), "rsmi").isPresent())
                .toList();
        if (partitions.size() > 1) {
            partitions.forEach(one -> add(new Found(pci, List.of(one), address, seat, true)));
        } else {
            add(new Found(pci, devices, address, seat, false));
        }
    }

    private void add(Found found) {
        if (all.size() >= Limits.GPUS) {
            throw found.pci().wrong("more than " + Limits.GPUS + " GPUs");
        }
        all.add(found);
    }

    void finish() {
        Map<String, Gpu> byObject = new LinkedHashMap<>();
        List<Found> ordered = all.stream().sorted(order()).toList();
        for (int i = 0; i < ordered.size(); i++) {
            Found found = ordered.get(i);
            Gpu gpu = gpu(found, i);
            Link link = new Link(LinkType.PCI, HwlocFile.linkSpeed(found.pci()), 1);
            topology.add(gpu).link(found.seat().parent(), gpu, link);
            byObject.putIfAbsent(HwlocGpuLinks.key(found.pci()), gpu);
            found.devices().forEach(device -> byObject.put(HwlocGpuLinks.key(device), gpu));
        }
        warnOfLost(byObject);
        new HwlocGpuLinks(file, topology, byObject).connect();
    }

    private void warnOfLost(Map<String, Gpu> known) {
        String lost = file.objects().stream()
                .filter(object -> HwlocFile.type(object).equals("OSDev")
                        && number(List.of(object), "rsmi").isPresent()
                        && !known.containsKey(HwlocGpuLinks.key(object)))
                .map(object -> object.value("name"))
                .collect(Collectors.joining(", "));
        if (!lost.isEmpty()) {
            topology.warn("the file names the GPUs " + lost
                    + ", but has no PCI device of a GPU for them; these GPUs are left out");
        }
    }

    private Comparator<Found> order() {
        Comparator<Found> byBus = Comparator.comparing(Found::address);
        for (String prefix : NUMBERED) {
            if (all.stream().allMatch(found -> number(found.devices(), prefix).isPresent())) {
                return Comparator.comparingInt(
                                (Found found) -> number(found.devices(), prefix).orElse(0))
                        .thenComparing(byBus);
            }
        }
        return byBus;
    }

    private Gpu gpu(Found found, int index) {
        PciId id = HwlocFile.id(found.pci());
        GpuVendor vendor = GpuArchitectures.vendor(id);
        return new Gpu(
                host,
                index,
                name(found.devices(), index),
                Optional.of(found.address()),
                id,
                vendor,
                GpuArchitectures.of(id),
                model(found),
                found.seat().numa(),
                Optional.empty(),
                "",
                found.partition() ? found.address().toString() : "");
    }

    private static String model(Found found) {
        return found.devices().stream()
                .map(device -> HwlocFile.info(device, "GPUModel"))
                .filter(model -> !model.isEmpty())
                .findFirst()
                .orElse(HwlocFile.info(found.pci(), "PCIDevice"));
    }

    private static String name(List<XmlElement> devices, int index) {
        for (String prefix : NAMED) {
            for (XmlElement device : devices) {
                Matcher name = NAME.matcher(device.value("name"));
                if (name.matches() && name.group(1).equals(prefix)) {
                    return device.value("name");
                }
            }
        }
        return "GPU" + index;
    }

    private static OptionalInt number(List<XmlElement> devices, String prefix) {
        for (XmlElement device : devices) {
            Matcher name = NAME.matcher(device.value("name"));
            if (name.matches() && name.group(1).equals(prefix)) {
                return OptionalInt.of(Integer.parseInt(name.group(2)));
            }
        }
        return OptionalInt.empty();
    }
}
