package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/**
 * The tables of {@code rocm-smi --showtopo}: link type and hops of every two GPUs, and their NUMA nodes. There are no NICs
 * in them, and no bandwidths.
 */
final class RocmSmiTopology {
    private static final Pattern TITLE = Pattern.compile("=+ (\\S.*\\S) =+");
    private static final Pattern NUMA = Pattern.compile("GPU\\[(\\d{1,4})\\]\\s*:.*Numa Node:\\s*(-?\\d{1,4})");
    private static final Pattern BUS = Pattern.compile("GPU\\[(\\d{1,4})\\]\\s*:\\s*PCI Bus:\\s*(\\S{1,20})");

    /** Largest number of GPUs that AMD joins by xGMI; if more are joined, some are partitions. */
    private static final int HIVE = 8;

    private static final String TYPES = "Link Type between two GPUs";
    private static final String HOPS = "Hops between two GPUs";
    private static final String WEIGHTS = "Weight between two GPUs";

    /** A table: its line in the text, GPUs by name in the order of the columns, and values and line of each row. */
    private record Table(
            int line, Map<String, Integer> places, Map<String, List<String>> rows, Map<String, Integer> lines) {
        List<String> names() {
            return List.copyOf(places.keySet());
        }
    }

    private static final Table NONE = new Table(0, Map.of(), Map.of(), Map.of());

    private final String source;
    private final Map<String, Table> tables = new HashMap<>();
    private final Map<Integer, Integer> numa = new HashMap<>();
    private final Map<String, PciAddress> buses = new HashMap<>();

    private RocmSmiTopology(String source) {
        this.source = source;
    }

    static boolean recognises(String text) {
        return text.contains(TYPES) || text.contains(HOPS) || text.contains(WEIGHTS);
    }

    static Topology read(String source, String text) {
        RocmSmiTopology reader = new RocmSmiTopology(source);
        reader.scan(text.lines().toList());
        return reader.build();
    }

    private void scan(List<String> lines) {
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            Matcher title = TITLE.matcher(line);
            Matcher node = NUMA.matcher(line);
            Matcher bus = BUS.matcher(line);
            if (title.matches() && List.of(TYPES, HOPS, WEIGHTS).contains(title.group(1))) {
                if (tables.put(title.group(1), table(lines, i + 1)) != null) {
                    throw Faults.at(source, i + 1, "the table \"" + title.group(1) + "\" is there twice");
                }
            } else if (node.matches()) {
                numa.put(Integer.parseInt(node.group(1)), Integer.parseInt(node.group(2)));
            } else if (bus.matches()) {
                PciAddress.parse(bus.group(2)).ifPresent(at -> buses.put("GPU" + Integer.parseInt(bus.group(1)), at));
            }
        }
    }

    private Table table(List<String> lines, int first) {
        int header = first;
        while (header < lines.size() && TableText.ruler(lines.get(header))) {
            header++;
        }
        List<String> names = header < lines.size() ? words(lines.get(header)) : List.of();
        if (names.size() > Limits.GPUS) {
            throw Faults.at(
                    source,
                    header + 1,
                    "the table has " + names.size() + " columns; at most " + Limits.GPUS + " GPUs are read");
        }
        if (names.isEmpty() || !names.stream().allMatch(name -> name.matches("GPU\\d{1,4}"))) {
            throw Faults.at(
                    source,
                    header + 1,
                    "expected the names of the columns, GPU0 GPU1 ..., but there is "
                            + Faults.quote(header < lines.size() ? lines.get(header) : ""));
        }
        Map<String, Integer> places = new LinkedHashMap<>();
        names.forEach(name -> places.putIfAbsent(name, places.size()));
        Table table = new Table(header + 1, places, new HashMap<>(), new HashMap<>());
        for (int i = header + 1; i < lines.size(); i++) {
            if (TableText.ruler(lines.get(i))) {
                continue;
            }
            if (!places.containsKey(lines.get(i).strip().split("\\s+", 2)[0])) {
                break;
            }
            List<String> words = words(lines.get(i));
            if (words.size() != names.size() + 1) {
                throw Faults.at(
                        source,
                        i + 1,
                        "row " + words.get(0) + " has " + (words.size() - 1) + " values for " + names.size()
                                + " columns");
            }
            if (table.rows().put(words.get(0), words.subList(1, words.size())) != null) {
                throw Faults.at(source, i + 1, "row " + words.get(0) + " is there twice");
            }
            table.lines().put(words.get(0), i + 1);
        }
        if (table.rows().size() != new HashSet<>(names).size() || table.rows().size() != names.size()) {
            throw Faults.at(
                    source,
                    header + 1,
                    "the table has " + names.size() + " columns and "
                            + table.rows().size() + " rows; the table ends too early or a line is missing");
        }
        return table;
    }

    private Topology build() {
        Table types = tables.get(TYPES);
        if (types == null) {
            throw Faults.in(
                    source,
                    "the table \"" + TYPES + "\" is missing; there is " + tables.keySet()
                            + "; use the whole output of rocm-smi --showtopo");
        }
        Topology.Builder builder = Topology.builder(source);
        int host = builder.host("");
        List<Gpu> gpus = new ArrayList<>();
        Set<Integer> nodes = new HashSet<>();
        Map<String, String> cards = cards(types.names());
        for (String name : types.names()) {
            int node = numa.getOrDefault(Integer.parseInt(name.substring(3)), -1);
            gpus.add(Gpu.builder(host, gpus.size(), GpuVendor.AMD)
                    .name(name)
                    .address(Optional.ofNullable(buses.get(name)))
                    .numa(node)
                    .card(cards.getOrDefault(name, ""))
                    .build());
            if (node >= 0 && nodes.add(node)) {
                builder.add(new NumaNode(host, node, Processor.UNKNOWN));
            }
        }
        gpus.forEach(builder::add);
        GpuPackages packages = new GpuPackages(builder, gpus);
        for (int i = 0; i < gpus.size(); i++) {
            for (int j = 0; j < i; j++) {
                join(builder, packages, types, gpus.get(i), gpus.get(j));
            }
        }
        packages.finish();
        long joined = types.names().stream()
                .filter(name -> types.rows().getOrDefault(name, List.of()).contains("XGMI"))
                .count();
        if (joined > HIVE && buses.isEmpty() && !tables.containsKey(WEIGHTS)) {
            builder.warn(joined
                    + " GPUs are joined by xGMI; if some of them are partitions of one GPU, its links are counted for each"
                    + " partition, because the text has neither weights nor PCI buses (rocm-smi --showtopo --showbus)");
        }
        return builder.build();
    }

    /** Name of the package of each GPU that is a partition: by PCI buses where these are listed, else by weights. */
    private Map<String, String> cards(List<String> names) {
        Map<String, List<String>> byCard = new LinkedHashMap<>();
        for (String name : names) {
            String first = names.stream()
                    .filter(other -> other.equals(name) || sameCard(name, other))
                    .findFirst()
                    .orElse(name);
            byCard.computeIfAbsent(first, k -> new ArrayList<>()).add(name);
        }
        Map<String, String> cards = new HashMap<>();
        byCard.forEach((first, partitions) -> {
            if (partitions.size() > 1) {
                String card = Optional.ofNullable(buses.get(first))
                        .map(at -> at.card().toString())
                        .orElse("of " + first);
                partitions.forEach(name -> cards.put(name, card));
            }
        });
        return cards;
    }

    private boolean sameCard(String name, String other) {
        PciAddress one = buses.get(name);
        PciAddress two = buses.get(other);
        return (one != null && two != null)
                ? one.card().equals(two.card())
                : entry(WEIGHTS, name, other).equals(Integer.toString(KfdNode.Link.INSIDE_WEIGHT));
    }

    private void join(Topology.Builder builder, GpuPackages packages, Table types, Gpu one, Gpu other) {
        int row = types.places().getOrDefault(one.name(), -1);
        int column = types.places().getOrDefault(other.name(), -1);
        String type = value(types, one.name(), column);
        int line = types.lines().getOrDefault(one.name(), types.line());
        if (!type.equals(value(types, other.name(), row))) {
            throw Faults.at(
                    source,
                    line,
                    one.name() + " to " + other.name() + " is " + Faults.quote(type) + ", and back "
                            + Faults.quote(value(types, other.name(), row)));
        }
        int hops = hops(one.name(), other.name());
        int links = links(one.name(), other.name());
        switch (type) {
            case "XGMI" -> {
                boolean inside = !one.card().isEmpty() && one.card().equals(other.card());
                double rate = inside ? LinkBandwidths.INSIDE_PACKAGE : 0;
                if (links > 1) {
                    builder.state(one, other, new Distance(PathType.NVB, 0, links));
                } else {
                    builder.state(one, other, new Distance(PathType.NVL, rate, inside ? 2 : hops));
                    packages.join(one, other, new Link(LinkType.XGMI, 0, 1));
                }
            }
            // The tables say nothing of switches; the farthest that it can be is taken.
            case "PCIE" ->
                builder.state(
                        one,
                        other,
                        new Distance(
                                one.numa() >= 0 && one.numa() == other.numa() ? PathType.NODE : PathType.SYS, 0, hops));
            default ->
                throw Faults.at(
                        source,
                        line,
                        one.name() + " to " + other.name() + " is " + Faults.quote(type) + "; known are XGMI, PCIE");
        }
    }

    private int hops(String row, String other) {
        String text = entry(HOPS, row, other);
        if (text.isEmpty()) {
            return 0;
        }
        if (!text.matches("\\d{1,4}")) {
            Table table = tables.getOrDefault(HOPS, NONE);
            throw Faults.at(
                    source,
                    table.lines().getOrDefault(row, table.line()),
                    "hops from " + row + " to " + other + " are " + Faults.quote(text) + "; expected a number");
        }
        return Integer.parseInt(text);
    }

    /** Number of xGMI links between two GPUs by their weight, since the table of hops has 1 for every xGMI; 0 where no weight is listed. */
    private int links(String row, String other) {
        String weight = entry(WEIGHTS, row, other);
        return weight.matches("\\d{1,4}") ? KfdNode.Link.hops(Integer.parseInt(weight)) : 0;
    }

    /** Entry of a table for two GPUs; empty where it is missing. */
    private String entry(String title, String row, String other) {
        Table table = tables.getOrDefault(title, NONE);
        Integer column = table.places().get(other);
        return column != null && table.places().containsKey(row) ? value(table, row, column) : "";
    }

    private static String value(Table table, String row, int column) {
        return table.rows().getOrDefault(row, List.of()).get(column);
    }

    private static List<String> words(String line) {
        return Arrays.stream(line.strip().split("\\s+", -1))
                .filter(word -> !word.isEmpty())
                .toList();
    }
}
