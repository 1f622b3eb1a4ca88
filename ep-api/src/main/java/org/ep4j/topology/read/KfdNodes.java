package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.topology.TopologyException;

/** Reads the nodes of AMD's compute driver, KFD. */
public final class KfdNodes {
    /** Where the kernel has them. */
    public static final String FOLDER = "/sys/class/kfd/kfd/topology";

    /** GPUs and processors of a machine. Eight GPUs with eight partitions each, and their processors, are 66. */
    private static final int MOST = 1024;

    /** Ways of one node to others. */
    private static final int MOST_LINKS = 2 * MOST;

    private KfdNodes() {}

    /** All that can be read, by number: those of GPUs that a container may not use cannot. */
    public static Map<Integer, KfdNode> read(FileTree tree) {
        return read("this machine", tree);
    }

    /**
     * As {@link #read(FileTree)}.
     *
     * @param source name of the tree for messages
     * @throws TopologyException when there are more than any machine has
     */
    static Map<Integer, KfdNode> read(String source, FileTree tree) {
        Map<Integer, KfdNode> nodes = new TreeMap<>();
        List<String> names = tree.list(FOLDER + "/nodes");
        check(source, names.size(), MOST, FOLDER + "/nodes", "nodes of a machine");
        for (String name : names) {
            String folder = FOLDER + "/nodes/" + name;
            Map<String, Long> properties = properties(tree, folder);
            if (name.matches("\\d{1,6}") && !properties.isEmpty()) {
                int number = Integer.parseInt(name);
                nodes.put(number, new KfdNode(number, properties, links(source, tree, folder)));
            }
        }
        return nodes;
    }

    private static void check(String source, int number, int most, String folder, String what) {
        if (number > most) {
            throw Faults.in(
                    source,
                    folder + " has " + number + " entries; at most " + most + " " + what
                            + " are read: give the recording of one machine");
        }
    }

    private static List<KfdLink> links(String source, FileTree tree, String folder) {
        List<KfdLink> links = new ArrayList<>();
        for (String kind : List.of("/io_links", "/p2p_links")) {
            List<String> names = tree.list(folder + kind);
            check(source, names.size(), MOST_LINKS, folder + kind, "links of a node");
            for (String name : names) {
                Map<String, Long> link = properties(tree, folder + kind + "/" + name);
                long to = link.getOrDefault("node_to", -1L);
                if (to >= 0 && to <= Integer.MAX_VALUE) {
                    links.add(new KfdLink(
                            (int) to,
                            link.getOrDefault("type", 0L),
                            link.getOrDefault("weight", 0L),
                            link.getOrDefault("min_bandwidth", 0L),
                            link.getOrDefault("max_bandwidth", 0L),
                            link.getOrDefault("flags", 0L)));
                }
            }
        }
        return List.copyOf(links);
    }

    private static Map<String, Long> properties(FileTree tree, String folder) {
        Map<String, Long> properties = new HashMap<>();
        tree.text(folder + "/properties").orElse("").lines().forEach(line -> {
            String[] words = line.strip().split("\\s+", -1);
            if (words.length == 2 && words[1].matches("\\d{1,20}")) {
                // Ids of hives and devices use all 64 bits.
                properties.putIfAbsent(words[0], unsigned(words[1]));
            }
        });
        return properties;
    }

    private static long unsigned(String digits) {
        try {
            return Long.parseUnsignedLong(digits);
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}
