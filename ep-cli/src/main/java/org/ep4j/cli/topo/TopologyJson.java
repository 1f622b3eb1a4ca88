package org.ep4j.cli.topo;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Gid;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuSwitch;
import org.ep4j.topology.Host;
import org.ep4j.topology.HostBridge;
import org.ep4j.topology.Link;
import org.ep4j.topology.Nic;
import org.ep4j.topology.NicPort;
import org.ep4j.topology.NumaNode;
import org.ep4j.topology.Part;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciId;
import org.ep4j.topology.PciSwitch;
import org.ep4j.topology.Processor;
import org.ep4j.topology.Topology;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The whole model as JSON. Names of fields are stable; {@code format} grows by one when one of them changes its meaning.
 * Parts are named by {@code id}, which links and distances refer to. Bandwidths are 1e9 bytes a second, rates of ports 1e9
 * bits a second; what is not known is null, 0 or an empty text. Distances are left out, with a warning, where there are more than
 * 128 GPUs.
 */
public final class TopologyJson {
    private static final int FORMAT = 1;
    private static final ObjectMapper JSON =
            JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();

    private TopologyJson() {}

    record Document(
            int format,
            String source,
            List<Host> hosts,
            List<Numa> numaNodes,
            List<Bridge> hostBridges,
            List<Switch> pciSwitches,
            List<Bridge> gpuSwitches,
            List<GpuEntry> gpus,
            List<NicEntry> nics,
            List<LinkEntry> links,
            List<DistanceEntry> distances,
            List<String> assumptions,
            List<String> warnings) {}

    record Numa(String id, int host, int number, Processor processor) {}

    record Bridge(String id, int host, String name) {}

    record Switch(String id, int host, String address, Ids pci) {}

    record Ids(String vendor, String device, String subVendor, String subDevice, String classCode) {}

    record GpuEntry(
            String id,
            int host,
            int index,
            String name,
            String address,
            Ids pci,
            String vendor,
            String architecture,
            String model,
            int numa,
            Optional<Boolean> gpuDirect,
            String clique,
            String card,
            String nearestPath,
            List<String> nearestNics) {}

    record NicEntry(
            String id,
            int host,
            String name,
            String address,
            Ids pci,
            String family,
            String driver,
            String card,
            int numa,
            Optional<Boolean> gpuDirect,
            boolean compute,
            String guid,
            boolean listed,
            List<PortEntry> ports) {}

    record PortEntry(
            int number,
            String state,
            String linkLayer,
            double gigabitsPerSecond,
            int activeMtu,
            int lid,
            String netdev,
            String network,
            List<Gid> gids) {}

    record LinkEntry(String a, String b, String type, double gigabytesPerSecond, int count) {}

    record DistanceEntry(String from, String to, String type, double gigabytesPerSecond, int hops) {}

    public static String of(Topology topology) {
        Map<Gpu, Nearest> nearest = Nearest.of(topology);
        Document document = new Document(
                FORMAT,
                topology.source(),
                topology.hosts(),
                topology.numaNodes().stream()
                        .map(n -> new Numa(id(n), n.host(), n.number(), n.processor()))
                        .toList(),
                topology.only(HostBridge.class).stream()
                        .map(b -> new Bridge(id(b), b.host(), b.name()))
                        .toList(),
                topology.only(PciSwitch.class).stream()
                        .map(s -> new Switch(id(s), s.host(), s.address().toString(), ids(s.id())))
                        .toList(),
                topology.only(GpuSwitch.class).stream()
                        .map(s -> new Bridge(id(s), s.host(), s.name()))
                        .toList(),
                topology.gpus().stream()
                        .map(gpu -> gpu(gpu, Optional.ofNullable(nearest.get(gpu))))
                        .toList(),
                topology.nics().stream().map(TopologyJson::nic).toList(),
                links(topology),
                distances(topology),
                topology.assumptions(),
                warnings(topology));
        // As bytes it takes a third of the memory.
        return new String(JSON.writeValueAsBytes(document), StandardCharsets.UTF_8) + System.lineSeparator();
    }

    private static GpuEntry gpu(Gpu gpu, Optional<Nearest> nearest) {
        return new GpuEntry(
                id(gpu),
                gpu.host(),
                gpu.index(),
                gpu.name(),
                gpu.address().map(PciAddress::toString).orElse(""),
                ids(gpu.id()),
                gpu.vendor().toString(),
                gpu.architecture(),
                gpu.model(),
                gpu.numa(),
                gpu.gpuDirect(),
                gpu.clique(),
                gpu.card(),
                nearest.map(n -> n.type().toString()).orElse(""),
                nearest.map(n -> n.nics().stream().map(TopologyJson::id).toList())
                        .orElse(List.of()));
    }

    private static NicEntry nic(Nic nic) {
        return new NicEntry(
                id(nic),
                nic.host(),
                nic.name(),
                nic.address().map(PciAddress::toString).orElse(""),
                ids(nic.id()),
                nic.family().toString(),
                nic.driver(),
                nic.card(),
                nic.numa(),
                nic.gpuDirect(),
                nic.compute(),
                nic.guid(),
                nic.listed(),
                nic.ports().stream().map(TopologyJson::port).toList());
    }

    private static PortEntry port(NicPort port) {
        return new PortEntry(
                port.number(),
                port.state().toString(),
                port.linkLayer().toString(),
                port.gigabitsPerSecond(),
                port.activeMtu(),
                port.lid(),
                port.netdev(),
                port.network(),
                port.gids());
    }

    private static List<LinkEntry> links(Topology topology) {
        Map<Part, Integer> places = new HashMap<>();
        topology.parts().forEach(part -> places.put(part, places.size()));
        List<LinkEntry> all = new ArrayList<>();
        for (Part a : topology.parts()) {
            int place = places.getOrDefault(a, 0);
            topology.neighbours(a).stream()
                    .filter(b -> places.getOrDefault(b, -1) > place)
                    .sorted(Comparator.comparing(b -> places.getOrDefault(b, 0)))
                    .forEach(b -> topology.links(a, b).forEach(link -> all.add(link(a, b, link))));
        }
        return all;
    }

    private static LinkEntry link(Part a, Part b, Link link) {
        return new LinkEntry(id(a), id(b), link.type().toString(), link.gigabytesPerSecond(), link.count());
    }

    private static List<String> warnings(Topology topology) {
        List<String> warnings = new ArrayList<>(topology.warnings());
        if (topology.gpus().size() > PathMatrix.MOST_PAIRED) {
            warnings.add("distances between " + topology.gpus().size()
                    + " GPUs are left out: they are written for at most " + PathMatrix.MOST_PAIRED + " GPUs");
        }
        return warnings;
    }

    private static List<DistanceEntry> distances(Topology topology) {
        List<DistanceEntry> all = new ArrayList<>();
        if (topology.gpus().size() > PathMatrix.MOST_PAIRED) {
            return all;
        }
        for (Gpu from : topology.gpus()) {
            Map<Part, Distance> reach = topology.distances(from);
            List<Part> ends = new ArrayList<>(topology.gpus());
            ends.addAll(topology.nics());
            for (Part to : ends) {
                Distance distance = reach.get(to);
                if (distance != null && !to.equals(from)) {
                    all.add(new DistanceEntry(
                            id(from),
                            id(to),
                            distance.type().toString(),
                            distance.gigabytesPerSecond(),
                            distance.hops()));
                }
            }
        }
        return all;
    }

    private static Ids ids(PciId id) {
        return new Ids(
                hex(id.vendor(), 4),
                hex(id.device(), 4),
                hex(id.subVendor(), 4),
                hex(id.subDevice(), 4),
                hex(id.classCode(), 6));
    }

    private static String hex(int id, int digits) {
        return id < 0 ? "" : "0x" + String.format(java.util.Locale.ROOT, "%0" + digits + "x", id);
    }

    /** Unique in the machine: {@code host0/gpu/GPU3}. */
    static String id(Part part) {
        String kind = part instanceof Gpu
                ? "gpu"
                : part instanceof Nic
                        ? "nic"
                        : part instanceof PciSwitch
                                ? "switch"
                                : part instanceof HostBridge
                                        ? "bridge"
                                        : part instanceof NumaNode ? "numa" : "gpu-switch";
        return "host" + part.host() + "/" + kind + "/"
                + (part instanceof NumaNode node ? String.valueOf(node.number()) : part.label());
    }
}
