package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.cli.report.TextTable;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.Topology;
import org.jspecify.annotations.Nullable;

/**
 * Path types between GPUs, and between GPUs and NICs, in the manner of {@code nvidia-smi topo -m}; for many GPUs, the number of pairs
 * with each path type.
 */
public final class PathMatrix {
    /** Above this many GPUs, pairs that are all alike are one line. */
    private static final int MOST_SHOWN = 16;

    /** GPUs whose pairs are shown each; beyond, pairs are counted. */
    static final int MOST_PAIRED = 128;

    /** Columns of a name in the legend. */
    private static final int NAME = 6;

    /** Every name with its meaning, nearest first. */
    private static final String LEGEND = """
            X     itself
            NVn   n NVLinks, directly or through NVSwitch
            XGMI  AMD's GPU links
            NVB   two NVLinks or xGMI links, through another GPU
            C2C   a coherent chip link between GPU and processor
            PIX   at most one PCIe switch
            PXB   several PCIe switches
            P2C   the GPU's chip link to its processor, then PCIe
            PHB   a PCIe host bridge
            NODE  host bridges of one NUMA node
            SYS   the link between NUMA nodes
            -     no path, or not known
            *     nearest NICs of the GPU
            """;

    private final Topology topology;
    private final List<Gpu> gpus;
    private final List<Nic> nics;

    private PathMatrix(Topology topology) {
        this.topology = topology;
        gpus = topology.gpus();
        nics = topology.nics().stream().filter(Nic::compute).toList();
    }

    /** Both matrices with their legend; empty for a machine without GPUs. */
    public static String of(Topology topology) {
        PathMatrix matrix = new PathMatrix(topology);
        if (matrix.gpus.isEmpty()) {
            return "no GPU, so no matrix" + System.lineSeparator();
        }
        StringBuilder text = new StringBuilder();
        Set<String> used = new TreeSet<>();
        text.append(matrix.betweenGpus(used));
        if (!matrix.nics.isEmpty()) {
            text.append(System.lineSeparator()).append(matrix.toNics(used));
        }
        return text.append(System.lineSeparator()).append(legend(used)).toString();
    }

    private String betweenGpus(Set<String> used) {
        Map<String, Long> kinds = new TreeMap<>();
        TextTable table =
                new TextTable(heads("GPU", gpus.stream().map(this::name).toList()));
        for (Gpu from : gpus) {
            Map<Part, Distance> reach = topology.distances(from);
            List<String> cells = new ArrayList<>(List.of(name(from)));
            for (Gpu to : gpus) {
                String cell = from.equals(to) ? "X" : label(from, to, reach.get(to));
                cells.add(cell);
                if (!from.equals(to)) {
                    kinds.merge(cell, 1L, Long::sum);
                }
            }
            if (gpus.size() <= MOST_PAIRED) {
                table.row(cells);
            }
        }
        used.addAll(kinds.keySet());
        if (gpus.size() > MOST_SHOWN && kinds.size() == 1) {
            return "every pair of the " + gpus.size() + " GPUs: "
                    + kinds.keySet().iterator().next() + System.lineSeparator();
        }
        return gpus.size() > MOST_PAIRED
                ? counted("pairs of the " + gpus.size() + " GPUs, in both directions: ", kinds)
                : table.toString();
    }

    private static String counted(String what, Map<String, Long> kinds) {
        return what
                + kinds.entrySet().stream()
                        .map(kind -> kind.getValue() + " " + kind.getKey())
                        .collect(Collectors.joining(", "))
                + System.lineSeparator();
    }

    /** Numbers of GPUs by the path type to their nearest NICs. */
    private String nearestCounted(Map<Gpu, Nearest> nearest, Set<String> used) {
        Map<String, Long> kinds = new TreeMap<>();
        for (Gpu gpu : gpus) {
            String type = nearest.containsKey(gpu) ? nearest.get(gpu).type().toString() : "-";
            kinds.merge(type, 1L, Long::sum);
        }
        used.addAll(kinds.keySet());
        return counted("nearest of the " + nics.size() + " NICs, by number of GPUs: ", kinds);
    }

    private String toNics(Set<String> used) {
        Map<Gpu, Nearest> nearest = Nearest.of(topology);
        if (gpus.size() > MOST_PAIRED) {
            return nearestCounted(nearest, used);
        }
        boolean numbered = nics.size() > 8;
        List<String> heads = new ArrayList<>();
        for (int i = 0; i < nics.size(); i++) {
            heads.add(numbered ? "NIC" + i : name(nics.get(i)));
        }
        TextTable table = new TextTable(heads("GPU", heads));
        for (Gpu gpu : gpus) {
            Map<Part, Distance> reach = topology.distances(gpu);
            List<String> cells = new ArrayList<>(List.of(name(gpu)));
            for (Nic nic : nics) {
                Distance distance = reach.get(nic);
                String type = distance == null ? "-" : distance.type().toString();
                used.add(type);
                boolean best =
                        nearest.containsKey(gpu) && nearest.get(gpu).nics().contains(nic);
                cells.add(best ? type + "*" : type);
                if (best) {
                    used.add("*");
                }
            }
            table.row(cells);
        }
        StringBuilder text = new StringBuilder(table.toString());
        for (int i = 0; numbered && i < nics.size(); i++) {
            text.append(i % 4 == 0 ? System.lineSeparator() : "   ")
                    .append("NIC")
                    .append(i)
                    .append(' ')
                    .append(name(nics.get(i)));
        }
        return text.append(numbered ? System.lineSeparator() : "").toString();
    }

    private static List<String> heads(String first, List<String> others) {
        List<String> all = new ArrayList<>(List.of(first));
        all.addAll(others);
        return all;
    }

    private String name(Part part) {
        return topology.hosts().size() == 1 ? part.name() : part.host() + "/" + part.name();
    }

    private static String legend(Set<String> used) {
        return LEGEND.lines()
                .filter(line -> used.stream()
                        .anyMatch(cell -> explains(line.substring(0, NAME).strip(), cell)))
                .map(line -> line + System.lineSeparator())
                .collect(Collectors.joining());
    }

    /**
     * Returns the path between two GPUs, as {@code nvidia-smi topo -m} and {@code rocm-smi --showtopo} print it: a path type, or the
     * kind and number of their links; {@code -} where no path is known.
     */
    private String label(Gpu from, Gpu to, @Nullable Distance distance) {
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
        return topology.neighbours(from).stream()
                .filter(GpuSwitch.class::isInstance)
                .mapToInt(bar -> Math.min(links(from, bar, LinkType.NVLINK), links(to, bar, LinkType.NVLINK)))
                .max()
                .orElse(0);
    }

    private int links(Part a, Part b, LinkType type) {
        return topology.links(a, b).stream()
                .filter(link -> link.type() == type)
                .mapToInt(Link::count)
                .sum();
    }

    /** Returns whether {@code name} in the legend explains a cell. */
    private static boolean explains(String name, String cell) {
        return name.equals("X")
                || cell.equals(name)
                || (name.equals("NVn") && cell.startsWith("NV") && !cell.equals("NVB"));
    }
}
