package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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

    private record Found(XmlElement pci, PciAddress address, HwlocTree.Seat seat) {}

    void add(XmlElement pci, PciAddress address, HwlocTree.Seat seat) {
        if (all.size() >= Limits.GPUS) {
            throw pci.wrong("more than " + Limits.GPUS + " GPUs");
        }
        all.add(new Found(pci, address, seat));
    }

    void finish() {
        Map<String, Gpu> byObject = new HashMap<>();
        List<Found> ordered = all.stream().sorted(order()).toList();
        for (int i = 0; i < ordered.size(); i++) {
            Found found = ordered.get(i);
            Gpu gpu = gpu(found, i);
            Link link = new Link(LinkType.PCI, HwlocFile.linkSpeed(found.pci()), 1);
            topology.add(gpu).link(found.seat().parent(), gpu, link);
            byObject.put(HwlocGpuLinks.key(found.pci()), gpu);
            HwlocFile.devices(found.pci()).forEach(device -> byObject.put(HwlocGpuLinks.key(device), gpu));
        }
        new HwlocGpuLinks(file, topology, byObject).connect();
    }

    private Comparator<Found> order() {
        Comparator<Found> byBus = Comparator.comparing(Found::address);
        for (String prefix : NUMBERED) {
            if (all.stream().allMatch(found -> number(found.pci(), prefix).isPresent())) {
                return Comparator.comparingInt(
                                (Found found) -> number(found.pci(), prefix).orElse(0))
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
                name(found.pci(), index),
                Optional.of(found.address()),
                id,
                vendor,
                GpuArchitectures.of(id),
                model(found.pci()),
                found.seat().numa(),
                Optional.empty(),
                "");
    }

    private static String model(XmlElement pci) {
        return HwlocFile.devices(pci).stream()
                .map(device -> HwlocFile.info(device, "GPUModel"))
                .filter(model -> !model.isEmpty())
                .findFirst()
                .orElse(HwlocFile.info(pci, "PCIDevice"));
    }

    private static String name(XmlElement pci, int index) {
        for (String prefix : NAMED) {
            for (XmlElement device : HwlocFile.devices(pci)) {
                Matcher name = NAME.matcher(device.value("name"));
                if (name.matches() && name.group(1).equals(prefix)) {
                    return device.value("name");
                }
            }
        }
        return "GPU" + index;
    }

    private static OptionalInt number(XmlElement pci, String prefix) {
        for (XmlElement device : HwlocFile.devices(pci)) {
            Matcher name = NAME.matcher(device.value("name"));
            if (name.matches() && name.group(1).equals(prefix)) {
                return OptionalInt.of(Integer.parseInt(name.group(2)));
            }
        }
        return OptionalInt.empty();
    }
}
