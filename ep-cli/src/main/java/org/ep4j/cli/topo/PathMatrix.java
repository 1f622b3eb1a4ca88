package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.ep4j.cli.report.TextTable;
import org.ep4j.topology.Distance;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.Nic;
import org.ep4j.topology.Part;
import org.ep4j.topology.Printable;
import org.ep4j.topology.Topology;

/** Path types between GPUs, and between GPUs and NICs, in the manner of {@code nvidia-smi topo -m}. */
public final class PathMatrix {
    /** Above this many GPUs, pairs that are all alike are said in one line. */
    private static final int MOST_SHOWN = 16;

    private final Topology topology;
    private final List<Gpu> gpus;
    private final List<Nic> nics;
    private final Map<Gpu, Map<Part, Distance>> reach = new HashMap<>();
    private final PairLabel label;

    private PathMatrix(Topology topology) {
        this.topology = topology;
        gpus = topology.gpus();
        nics = topology.nics().stream().filter(Nic::compute).toList();
        gpus.forEach(gpu -> reach.put(gpu, topology.distances(gpu)));
        label = new PairLabel(topology);
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
        return Printable.lines(
                text.append(System.lineSeparator()).append(legend(used)).toString());
    }

    private String betweenGpus(Set<String> used) {
        Set<String> kinds = new TreeSet<>();
        TextTable table =
                new TextTable(heads("GPU", gpus.stream().map(this::name).toList()));
        for (Gpu from : gpus) {
            List<String> cells = new ArrayList<>(List.of(name(from)));
            for (Gpu to : gpus) {
                String cell = from.equals(to)
                        ? "X"
                        : label.of(from, to, reach.getOrDefault(from, Map.of()).get(to));
                cells.add(cell);
                if (!from.equals(to)) {
                    kinds.add(cell);
                }
            }
            table.row(cells);
        }
        used.addAll(kinds);
        if (gpus.size() > MOST_SHOWN && kinds.size() == 1) {
            return "every pair of the " + gpus.size() + " GPUs: "
                    + kinds.iterator().next() + System.lineSeparator();
        }
        return table.toString();
    }

    private String toNics(Set<String> used) {
        Map<Gpu, Nearest> nearest = Nearest.of(topology);
        boolean numbered = nics.size() > 8;
        List<String> heads = new ArrayList<>();
        for (int i = 0; i < nics.size(); i++) {
            heads.add(numbered ? "NIC" + i : name(nics.get(i)));
        }
        TextTable table = new TextTable(heads("GPU", heads));
        for (Gpu gpu : gpus) {
            List<String> cells = new ArrayList<>(List.of(name(gpu)));
            Set<Nic> best = new HashSet<>(
                    Optional.ofNullable(nearest.get(gpu)).map(Nearest::nics).orElse(List.of()));
            for (Nic nic : nics) {
                Distance distance = reach.getOrDefault(gpu, Map.of()).get(nic);
                String type = distance == null ? "-" : distance.type().toString();
                used.add(type);
                cells.add(best.contains(nic) ? type + "*" : type);
                if (best.contains(nic)) {
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
        return Printable.of(topology.hosts().size() == 1 ? part.label() : part.host() + "/" + part.label());
    }

    private static String legend(Set<String> used) {
        StringBuilder text = new StringBuilder();
        PairLabel.meanings().forEach((name, meaning) -> {
            if (used.stream().anyMatch(cell -> PairLabel.stands(name, cell))) {
                text.append(String.format("%-5s %s%n", name, meaning));
            }
        });
        return text.toString();
    }
}
