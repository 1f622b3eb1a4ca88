package org.ep4j.cli.topo;

import static org.ep4j.tck.Json.fields;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.ep4j.tck.Json;
import org.ep4j.topology.Distance;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Topology;

/**
 * The whole model as JSON. Names of fields are stable; {@code format} grows by one when one of them changes its meaning.
 * Parts are named by {@code id}, which links and distances refer to. Bandwidths are 1e9 bytes a second, rates of ports 1e9
 * bits a second; what is not known is null, 0 or an empty text. Distances are left out, with a warning, where there are more than
 * 128 GPUs.
 */
public final class TopologyJson {
    private static final int FORMAT = 1;

    private static final Map<Class<? extends Part>, String> KINDS = Map.of(
            Gpu.class, "gpu",
            Nic.class, "nic",
            PciSwitch.class, "switch",
            HostBridge.class, "bridge",
            NumaNode.class, "numa");

    private TopologyJson() {}

    public static String of(Topology topology) {
        Map<Gpu, Nearest> nearest = Nearest.of(topology);
        Map<String, Object> document = fields(
                "format", FORMAT,
                "source", topology.source(),
                "hosts", topology.hosts(),
                "numaNodes", each(topology.numaNodes(), TopologyJson::numa),
                "hostBridges", each(topology.only(HostBridge.class), TopologyJson::named),
                "pciSwitches", each(topology.only(PciSwitch.class), TopologyJson::pciSwitch),
                "gpuSwitches", each(topology.only(GpuSwitch.class), TopologyJson::named),
                "gpus", each(topology.gpus(), gpu -> gpu(gpu, Optional.ofNullable(nearest.get(gpu)))),
                "nics", each(topology.nics(), TopologyJson::nic),
                "links", links(topology),
                "distances", distances(topology),
                "assumptions", topology.assumptions(),
                "warnings", warnings(topology));
        return Json.of(document) + System.lineSeparator();
    }

    private static <T, R> List<R> each(List<T> all, Function<T, R> entry) {
        return all.stream().map(entry).toList();
    }

    private static Map<String, Object> numa(NumaNode node) {
        return fields("id", id(node), "host", node.host(), "number", node.number(), "processor", node.processor());
    }

    private static Map<String, Object> named(Part part) {
        return fields("id", id(part), "host", part.host(), "name", part.name());
    }

    private static Map<String, Object> pciSwitch(PciSwitch part) {
        return fields(
                "id", id(part), "host", part.host(), "address", part.address().toString(), "pci", ids(part.id()));
    }

    private static Map<String, Object> gpu(Gpu gpu, Optional<Nearest> nearest) {
        return fields(
                "id", id(gpu),
                "host", gpu.host(),
                "index", gpu.index(),
                "name", gpu.name(),
                "address", gpu.address().map(PciAddress::toString).orElse(""),
                "pci", ids(gpu.id()),
                "vendor", gpu.vendor().toString(),
                "architecture", gpu.architecture(),
                "model", gpu.model(),
                "numa", gpu.numa(),
                "gpuDirect", gpu.gpuDirect(),
                "clique", gpu.clique(),
                "card", gpu.card(),
                "nearestPath", nearest.map(n -> n.type().toString()).orElse(""),
                "nearestNics", each(nearest.map(Nearest::nics).orElse(List.of()), TopologyJson::id));
    }

    private static Map<String, Object> nic(Nic nic) {
        return fields(
                "id", id(nic),
                "host", nic.host(),
                "name", nic.name(),
                "address", nic.address().map(PciAddress::toString).orElse(""),
                "pci", ids(nic.id()),
                "family", nic.family().toString(),
                "driver", nic.driver(),
                "card", nic.card(),
                "numa", nic.numa(),
                "gpuDirect", nic.gpuDirect(),
                "compute", nic.compute(),
                "guid", nic.guid(),
                "listed", nic.listed(),
                "ports", each(nic.ports(), TopologyJson::port));
    }

    private static Map<String, Object> port(NicPort port) {
        return fields(
                "number", port.number(),
                "state", port.state().toString(),
                "linkLayer", port.linkLayer().toString(),
                "gigabitsPerSecond", port.gigabitsPerSecond(),
                "activeMtu", port.activeMtu(),
                "lid", port.lid(),
                "netdev", port.netdev(),
                "network", port.network(),
                "gids", port.gids());
    }

    private static List<Map<String, Object>> links(Topology topology) {
        Map<Part, Integer> places = new HashMap<>();
        topology.parts().forEach(part -> places.put(part, places.size()));
        List<Map<String, Object>> all = new ArrayList<>();
        for (Part a : topology.parts()) {
            int place = places.getOrDefault(a, 0);
            topology.neighbours(a).stream()
                    .filter(b -> places.getOrDefault(b, -1) > place)
                    .sorted(Comparator.comparing(b -> places.getOrDefault(b, 0)))
                    .forEach(b -> topology.links(a, b).forEach(link -> all.add(link(a, b, link))));
        }
        return all;
    }

    private static Map<String, Object> link(Part a, Part b, Link link) {
        return fields(
                "a", id(a),
                "b", id(b),
                "type", link.type().toString(),
                "gigabytesPerSecond", link.gigabytesPerSecond(),
                "count", link.count());
    }

    private static List<String> warnings(Topology topology) {
        List<String> warnings = new ArrayList<>(topology.warnings());
        if (topology.gpus().size() > PathMatrix.MOST_PAIRED) {
            warnings.add("distances between " + topology.gpus().size()
                    + " GPUs are left out: they are written for at most " + PathMatrix.MOST_PAIRED + " GPUs");
        }
        return warnings;
    }

    private static List<Map<String, Object>> distances(Topology topology) {
        List<Map<String, Object>> all = new ArrayList<>();
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
                    all.add(fields(
                            "from", id(from),
                            "to", id(to),
                            "type", distance.type().toString(),
                            "gigabytesPerSecond", distance.gigabytesPerSecond(),
                            "hops", distance.hops()));
                }
            }
        }
        return all;
    }

    private static Map<String, Object> ids(PciId id) {
        return fields(
                "vendor", hex(id.vendor(), 4),
                "device", hex(id.device(), 4),
                "subVendor", hex(id.subVendor(), 4),
                "subDevice", hex(id.subDevice(), 4),
                "classCode", hex(id.classCode(), 6));
    }

    private static String hex(int id, int digits) {
        return id < 0 ? "" : "0x" + String.format(Locale.ROOT, "%0" + digits + "x", id);
    }

    /** Unique in the machine: {@code host0/gpu/GPU3}. */
    static String id(Part part) {
        String kind = KINDS.getOrDefault(part.getClass(), "gpu-switch");
        return "host" + part.host() + "/" + kind + "/"
                + (part instanceof NumaNode node ? String.valueOf(node.number()) : part.name());
    }
}
