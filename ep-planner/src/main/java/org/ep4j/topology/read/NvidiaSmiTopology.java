package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicFamilies;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/**
 * The matrix of {@code nvidia-smi topo -m}. It gives path types and numbers of NVLinks, no other bandwidths, and of
 * NICs the name at most.
 */
final class NvidiaSmiTopology {
    private static final Pattern NVLINKS = Pattern.compile("NV(\\d{1,3})");

    /** {@code NIC0: mlx5_0} of the legend; in prose {@code NIC0=mlx5_0/rdma0 (NUMA 0)}. */
    private static final Pattern LEGEND = Pattern.compile(
            "\\b(NIC\\d{1,4})\\s{0,8}[:=]\\s{0,8}([A-Za-z][\\w.-]{0,63})(?:/\\S{1,64})?(?:\\s?\\(NUMA (\\d{1,4})\\))?");

    /** The most links that a GPU has had so far (H100, B200); with more in the matrix there is a switch between. */
    private static final int LINKS_OF_A_GPU = 18;

    private final String source;
    private final Matrix matrix;
    private final Map<String, Part> parts = new LinkedHashMap<>();
    private final List<String> guessed = new ArrayList<>();
    private final Topology.Builder builder;
    private final int host;

    private NvidiaSmiTopology(String source, Matrix matrix) {
        this.source = source;
        this.matrix = matrix;
        builder = Topology.builder(source);
        host = builder.host("");
    }

    static boolean recognises(String text) {
        return Matrix.isIn(text);
    }

    static Topology read(String source, String text) {
        Matrix matrix = Matrix.read(source, text);
        return new NvidiaSmiTopology(source, matrix).build(text);
    }

    private Topology build(String text) {
        Map<String, MatchResult> legend = legend(text);
        Set<String> names = new HashSet<>();
        Set<Integer> nodes = new HashSet<>();
        int gpus = 0;
        for (String column : matrix.columns()) {
            if (Matrix.gpu(column)) {
                int numa = matrix.numa(column);
                Gpu gpu = Gpu.builder(host, gpus++, GpuVendor.NVIDIA)
                        .name(column)
                        .numa(numa)
                        .build();
                parts.put(column, gpu);
                if (numa >= 0 && nodes.add(numa)) {
                    builder.add(new NumaNode(host, numa, Processor.UNKNOWN));
                }
            } else {
                parts.put(column, nic(column, Optional.ofNullable(legend.get(column)), names));
            }
        }
        parts.values().forEach(builder::add);
        if (!guessed.isEmpty()) {
            builder.warn("the matrix gives only the names of NICs; their families are assumed from these names: "
                    + String.join(", ", guessed));
        }
        // All are understood before memory is taken for any.
        matrix.cells().forEach(this::type);
        matrix.cells().forEach(this::state);
        Map<String, Integer> switched = switched();
        if (!switched.isEmpty()) {
            GpuSwitch between = new GpuSwitch(host, "NVSwitch");
            builder.add(between);
            switched.forEach((gpu, count) -> builder.link(part(gpu), between, nvlinks(count)));
        }
        return builder.build();
    }

    private Part part(String column) {
        Part part = parts.get(column);
        if (part == null) {
            throw Faults.in(source, "the matrix has no column " + Faults.quote(column));
        }
        return part;
    }

    private Nic nic(String column, Optional<MatchResult> entry, Set<String> names) {
        String name = entry.map(found -> found.group(2)).orElse(column);
        int numa = entry.map(found -> found.group(3)).map(Integer::parseInt).orElse(-1);
        if (!names.add(name)) {
            builder.warn("the legend names " + name + " twice; " + column + " keeps the name of its column");
            name = column;
        }
        NicFamily family = NicFamilies.named(name);
        guessed.add(name + " " + family);
        return new Nic(
                host, name, Optional.empty(), PciId.UNKNOWN, family, "", name, numa, Optional.empty(), true, List.of());
    }

    private static Map<String, MatchResult> legend(String text) {
        Map<String, MatchResult> legend = new HashMap<>();
        LEGEND.matcher(text).results().forEach(entry -> legend.putIfAbsent(entry.group(1), entry));
        return legend;
    }

    private void state(Matrix.Cell cell) {
        PathType type = type(cell);
        Optional<Matrix.Cell> mirror = matrix.mirror(cell);
        if (mirror.isPresent() && type(mirror.get()) != type) {
            builder.warn(cell.row() + " to " + cell.column() + " is " + cell.value() + ", and back "
                    + mirror.get().value() + "; the farther counts");
            type = type.max(type(mirror.get()));
        }
        double bandwidth =
                type == PathType.NVL ? nvlinks(Math.max(0, links(cell))).gigabytesPerSecond() : 0;
        builder.state(part(cell.row()), part(cell.column()), new Distance(type, bandwidth, 0));
    }

    private PathType type(Matrix.Cell cell) {
        if (links(cell) >= 0) {
            return PathType.NVL;
        }
        return switch (cell.value()) {
            case "PIX" -> PathType.PIX;
            case "PXB" -> PathType.PXB;
            case "PHB" -> PathType.PHB;
            case "NODE" -> PathType.NODE;
            // SOC is what old versions print.
            case "SYS", "SOC" -> PathType.SYS;
            default ->
                throw Faults.at(
                        source,
                        cell.line(),
                        cell.row() + " to " + cell.column() + " is " + Faults.quote(cell.value())
                                + "; known are X, NV#, PIX, PXB, PHB, NODE, SYS");
        };
    }

    /** Links from GPU to GPU; where these would be too many, links of each GPU to a switch instead. */
    private Map<String, Integer> switched() {
        Map<String, Integer> all = new HashMap<>();
        Map<String, Integer> most = new LinkedHashMap<>();
        matrix.cells().filter(cell -> links(cell) >= 0).forEach(cell -> {
            all.merge(cell.row(), links(cell), Integer::sum);
            most.merge(cell.row(), links(cell), Integer::max);
        });
        if (all.values().stream().anyMatch(count -> count > LINKS_OF_A_GPU)) {
            return most;
        }
        matrix.cells()
                .filter(cell -> links(cell) >= 0 && matrix.before(cell.row(), cell.column()))
                .forEach(cell -> builder.link(part(cell.row()), part(cell.column()), nvlinks(links(cell))));
        return Map.of();
    }

    /** Number of NVLinks of a cell; -1 when it gives none. */
    private static int links(Matrix.Cell cell) {
        Matcher links = NVLINKS.matcher(cell.value());
        return links.matches() ? Integer.parseInt(links.group(1)) : -1;
    }

    /** The matrix does not name the GPUs, so each link counts as a link of an unknown GPU. */
    private static Link nvlinks(int count) {
        return new Link(LinkType.NVLINK, count * LinkBandwidths.nvlink(-1), count);
    }
}
