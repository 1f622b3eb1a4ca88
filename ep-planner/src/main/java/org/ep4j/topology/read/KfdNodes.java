package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Reads what AMD's compute driver, KFD, shows: mostly its nodes. */
public final class KfdNodes {
    /** Folder in which the kernel describes the nodes. */
    public static final String FOLDER = "/sys/class/kfd/kfd/topology";

    private static final String DIRECT = "/io_links";

    /** The places where RCCL searches (net_ib.cc): the folder moved with kernels. */
    private static final List<String> PEER_CLIENTS = List.of(
            "/sys/kernel/mm/memory_peers/amdkfd", "/sys/kernel/memory_peers/amdkfd", "/sys/memory_peers/amdkfd");

    private KfdNodes() {}

    /**
     * Folder in which the driver shows itself as a client of the kernel's peer memory interface, which NIC drivers such
     * as MLNX_OFED add. Empty if it is no client, so that NICs cannot use addresses of AMD GPUs' memory.
     */
    public static Optional<String> peerMemoryClient(FileTree tree) {
        return PEER_CLIENTS.stream()
                .filter(place -> tree.exists(place + "/version"))
                .findFirst();
    }

    /** Reads the nodes, by number; nodes of GPUs that a container may not use cannot be read, and are missing. */
    public static Map<Integer, KfdNode> read(FileTree tree) {
        Map<Integer, KfdNode> nodes = new TreeMap<>();
        for (String name : tree.list(FOLDER + "/nodes")) {
            String folder = FOLDER + "/nodes/" + name;
            Map<String, Long> properties = properties(tree, folder);
            if (name.matches("\\d{1,6}") && !properties.isEmpty()) {
                int number = Integer.parseInt(name);
                nodes.put(number, new KfdNode(number, properties, links(tree, folder)));
            }
        }
        return nodes;
    }

    private static List<KfdLink> links(FileTree tree, String folder) {
        List<KfdLink> links = new ArrayList<>();
        for (String kind : List.of(DIRECT, "/p2p_links")) {
            for (String name : tree.list(folder + kind)) {
                Map<String, Long> link = properties(tree, folder + kind + "/" + name);
                long to = link.getOrDefault("node_to", -1L);
                if (to >= 0 && to <= Integer.MAX_VALUE) {
                    links.add(new KfdLink(
                            (int) to,
                            kind.equals(DIRECT),
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
        tree.text(folder + "/properties")
                .orElse("")
                .lines()
                .limit(Limits.PROPERTIES)
                .forEach(line -> {
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
