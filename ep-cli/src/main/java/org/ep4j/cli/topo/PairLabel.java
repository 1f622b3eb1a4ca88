package org.ep4j.cli.topo;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.jspecify.annotations.Nullable;

/** Short names of ways, as {@code nvidia-smi topo -m} and {@code rocm-smi --showtopo} print them. */
final class PairLabel {
    private final Topology topology;

    PairLabel(Topology topology) {
        this.topology = topology;
    }

    /** Between two GPUs: a path type, or the kind and number of their links; {@code -} where no way is known. */
    String of(Gpu from, Gpu to, @Nullable Distance distance) {
        if (distance == null) {
            return "-";
        }
        if (distance.type() != PathType.NVL) {
            return distance.type().toString();
        }
        if (from.vendor() == GpuVendor.AMD || links(from, to, LinkType.XGMI) > 0) {
            return "XGMI";
        }
        int direct = links(from, to, LinkType.NVLINK);
        int switched = direct > 0 ? direct : throughSwitch(from, to);
        return switched > 0 ? "NV" + switched : "NV";
    }

    private int throughSwitch(Gpu from, Gpu to) {
        int most = 0;
        for (Part bar : topology.neighbours(from)) {
            if (bar instanceof GpuSwitch) {
                most = Math.max(most, Math.min(links(from, bar, LinkType.NVLINK), links(to, bar, LinkType.NVLINK)));
            }
        }
        return most;
    }

    private int links(Part a, Part b, LinkType type) {
        List<Link> links = topology.links(a, b);
        return links.stream()
                .filter(link -> link.type() == type)
                .mapToInt(Link::count)
                .sum();
    }

    /** True when {@code cell} is explained by the legend's {@code name}. */
    static boolean stands(String name, String cell) {
        return name.equals("X")
                || cell.equals(name)
                || (name.equals("NVn") && cell.startsWith("NV") && !cell.equals("NVB"));
    }

    /** Every name with its meaning, nearest first. */
    static Map<String, String> meanings() {
        Map<String, String> all = new LinkedHashMap<>();
        all.put("X", "itself");
        all.put("NVn", "n NVLinks, directly or through NVSwitch");
        all.put("XGMI", "AMD's GPU links");
        all.put("NVB", "two NVLinks or xGMI links, through another GPU");
        all.put("C2C", "a coherent chip link between GPU and processor");
        all.put("PIX", "at most one PCIe switch");
        all.put("PXB", "several PCIe switches");
        all.put("P2C", "the GPU's chip link to its processor, then PCIe");
        all.put("PHB", "a PCIe host bridge");
        all.put("NODE", "host bridges of one NUMA node");
        all.put("SYS", "the link between NUMA nodes");
        all.put("-", "no path, or not known");
        all.put("*", "nearest NICs of the GPU");
        return all;
    }
}
