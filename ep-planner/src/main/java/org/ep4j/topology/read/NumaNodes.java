package org.ep4j.topology.read;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/** NUMA nodes with processors, and any other that a device names; all are linked with each other. */
final class NumaNodes {
    private static final Pattern RANGE = Pattern.compile("(\\d{1,7})(?:-(\\d{1,7}))?");

    private final Topology.Builder builder;
    private final int host;
    private final Processor processor;
    private final Map<Integer, Integer> processors = new HashMap<>();
    private final Map<Integer, NumaNode> nodes = new TreeMap<>();

    /** Nodes of the source, as opposed to those that only a device names. */
    private final Set<Integer> listed = new HashSet<>();

    NumaNodes(FileTree tree, Topology.Builder builder, int host) {
        this.builder = builder;
        this.host = host;
        processor = processor(tree);
        for (String name : tree.list("/sys/devices/system/node")) {
            String list =
                    tree.text("/sys/devices/system/node/" + name + "/cpulist").orElse("");
            if (name.matches("node\\d{1,4}") && !list.isEmpty()) {
                int number = Integer.parseInt(name.substring(4));
                processors.put(number, count(list));
                list(number);
            }
        }
    }

    /** Links every node with every other; topology files do not give these links. */
    static void connect(Topology.Builder topology, List<NumaNode> nodes) {
        for (int i = 0; i < nodes.size(); i++) {
            for (int j = i + 1; j < nodes.size(); j++) {
                topology.link(nodes.get(i), nodes.get(j), link(nodes.get(i)));
            }
        }
    }

    static Link link(NumaNode node) {
        return new Link(LinkType.CPU, LinkBandwidths.processors(node.processor()), 1);
    }

    /** The kind of the first processor in {@code /proc/cpuinfo}; those of one machine are of one kind. */
    private static Processor processor(FileTree tree) {
        Map<String, String> first = new HashMap<>();
        for (String line : tree.text("/proc/cpuinfo").orElse("").lines().toList()) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                first.putIfAbsent(
                        line.substring(0, colon).strip(),
                        line.substring(colon + 1).strip());
            }
        }
        if (first.containsKey("vendor_id")) {
            return new Processor(
                    "x86_64",
                    first.getOrDefault("vendor_id", ""),
                    NcclValues.family(number(first.getOrDefault("cpu family", ""))),
                    number(first.getOrDefault("model", "")));
        }
        if (first.containsKey("CPU implementer")) {
            return new Processor("arm64", "", -1, -1);
        }
        return first.getOrDefault("cpu", "").startsWith("POWER")
                ? new Processor("ppc64", "", -1, -1)
                : Processor.UNKNOWN;
    }

    private static int number(String text) {
        return text.matches("\\d{1,5}") ? Integer.parseInt(text) : -1;
    }

    /** Numbers in a list such as {@code 0-47,96,98-143}; 0 where it is none. */
    private static int count(String list) {
        long count = 0;
        for (String part : list.strip().split(",", -1)) {
            Matcher range = RANGE.matcher(part);
            if (!range.matches()) {
                return 0;
            }
            int first = Integer.parseInt(range.group(1));
            int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
            count += Math.max(0, last - first + 1);
        }
        return (int) Math.min(count, Integer.MAX_VALUE);
    }

    /** Adds a node of the source. */
    void list(int number) {
        listed.add(number);
        get(number);
    }

    boolean unlisted() {
        return listed.isEmpty();
    }

    /** Resolves the number that a device has: virtual machines with a single node often say -1. */
    int known(int number) {
        if (number > Limits.NUMA_NUMBER) {
            builder.warn("a device is on the NUMA node " + number + "; the highest that Linux has is "
                    + Limits.NUMA_NUMBER + ", so it counts as unknown");
            return -1;
        }
        return number < 0 && listed.size() == 1 ? listed.iterator().next() : Math.max(number, -1);
    }

    /** The node with a number; -1 stands for the unknown one. */
    NumaNode get(int number) {
        NumaNode known = nodes.get(number);
        if (known != null) {
            return known;
        }
        if (number < 0 && !listed.isEmpty()) {
            builder.warn("some devices are on an unknown NUMA node (numa_node -1), though there are " + listed.size()
                    + " nodes; these devices count as far from all nodes");
        }
        NumaNode node = new NumaNode(host, number, processor, processors.getOrDefault(number, 0));
        builder.add(node);
        nodes.values().forEach(other -> builder.link(node, other, link(node)));
        nodes.put(number, node);
        return node;
    }
}
