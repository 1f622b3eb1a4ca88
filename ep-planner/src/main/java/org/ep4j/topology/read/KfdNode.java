package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.model.PciAddress;

/**
 * A node of AMD's compute driver: a CPU, a GPU, a partition of a GPU, or a CPU and a GPU in one package.
 *
 * @param number its number
 * @param properties what the driver reports, by name
 * @param links ways to other nodes, of {@code io_links} and of {@code p2p_links}
 */
public record KfdNode(int number, Map<String, Long> properties, List<Link> links) {
    /** Folder in which the kernel describes the nodes. */
    public static final String FOLDER = "/sys/class/kfd/kfd/topology";

    private static final String DIRECT = "/io_links";

    /** The places where RCCL searches (net_ib.cc): the folder moved with kernels. */
    private static final List<String> PEER_CLIENTS = List.of(
            "/sys/kernel/mm/memory_peers/amdkfd", "/sys/kernel/memory_peers/amdkfd", "/sys/memory_peers/amdkfd");

    /**
     * A link from one node of KFD to another. Numbers are as in Linux {@code kfd_crat.h}, weights as in {@code kfd_crat.c}:
     * {@code KFD_CRAT_XGMI_WEIGHT} for each hop that the xGMI firmware reports, {@code KFD_CRAT_INTRA_SOCKET_WEIGHT} inside a
     * package.
     *
     * @param to number of the other node
     * @param direct false for a way through other nodes, which Linux lists in {@code p2p_links} with the properties of its
     *     first link
     * @param type kind of link
     * @param weight cost: 15 for each xGMI link, 13 inside a package, 20 for each PCIe link
     * @param leastMegabytes bandwidth of one link, in megabytes a second; 0 when unknown
     * @param mostMegabytes bandwidth of all links together; 0 when unknown
     * @param flags bit 0 says that it is enabled, bits 2 and 3 that it has no atomics of 32 and 64 bits
     */
    public record Link(
            int to, boolean direct, long type, long weight, long leastMegabytes, long mostMegabytes, long flags) {
        private static final int XGMI = 11;
        private static final int XGMI_WEIGHT = 15;

        /** Weight between partitions of one package: {@code KFD_CRAT_INTRA_SOCKET_WEIGHT} of Linux {@code kfd_crat.c}. */
        static final int INSIDE_WEIGHT = 13;

        /** {@code CRAT_IOLINK_FLAGS_NO_ATOMICS_32_BIT} and {@code ..._64_BIT}. */
        private static final int NO_ATOMICS_32 = 1 << 2;

        private static final int NO_ATOMICS_64 = 1 << 3;

        /** Returns true for an xGMI link. */
        public boolean xgmi() {
            return type == XGMI;
        }

        /** Returns true for a link between partitions of one GPU. */
        public boolean inside() {
            return xgmi() && weight == INSIDE_WEIGHT;
        }

        /** Number of xGMI links on the way, at least 1; links between partitions inside a package do not count. */
        public int hops() {
            return hops(weight);
        }

        /** xGMI links on a way of a weight. ROCm SMI prints weights, while the hops that it prints are 1 for all xGMI. */
        static int hops(long weight) {
            long between = weight;
            for (int inside = INSIDE_WEIGHT; inside <= 2 * INSIDE_WEIGHT; inside += INSIDE_WEIGHT) {
                between = (weight - inside) % XGMI_WEIGHT == 0 ? weight - inside : between;
            }
            return (int) Math.max(1, Math.min(99, between / XGMI_WEIGHT));
        }

        /** Number of parallel links. */
        public int count() {
            return inside() || leastMegabytes <= 0 || mostMegabytes < leastMegabytes
                    ? 1
                    : (int) Math.min(99, mostMegabytes / leastMegabytes);
        }

        /** Returns true if the link carries atomics of 32 and 64 bits. */
        public boolean atomics() {
            return (flags & NO_ATOMICS_32) == 0 && atomics64();
        }

        /** Returns true if the link carries atomics of 64 bits. */
        public boolean atomics64() {
            return (flags & NO_ATOMICS_64) == 0;
        }
    }

    public KfdNode {
        properties = Map.copyOf(properties);
        links = List.copyOf(links);
    }

    /** A property, 0 when it is missing. */
    public long get(String property) {
        return properties.getOrDefault(property, 0L);
    }

    /** Returns true for a GPU, or a partition of one. */
    public boolean gpu() {
        return get("simd_count") > 0;
    }

    /** Returns true for a CPU, or for a GPU in the same package as a CPU. */
    public boolean processor() {
        return get("cpu_cores_count") > 0;
    }

    /**
     * PCI address of the node: {@code location_id} contains bus, device and function. A partition has its number as
     * function, or, with newer drivers, in bits 28 to 31; there need be no such function on PCI.
     */
    public Optional<PciAddress> address() {
        long place = get("location_id") & 0xffff_ffffL;
        int partition = (int) (place >> 28) & 7;
        int function = partition > 0 ? partition : (int) place & 7;
        return (place & 0xffff) == 0 || (place & 0xfff_0000L) != 0
                ? Optional.empty()
                : Optional.of(new PciAddress(
                        get("domain") & 0xffff_ffffL, (int) (place >> 8) & 0xff, (int) (place >> 3) & 0x1f, function));
    }

    /** PCI address with function 0, equal for all partitions of one package; empty if unknown. */
    public String card() {
        return address().map(at -> at.card().toString()).orElse("");
    }

    /** Name of the instruction set of the GPU: 90402 is {@code gfx942}, 90010 is {@code gfx90a}. */
    public String architecture() {
        long version = get("gfx_target_version");
        return version <= 0
                ? ""
                : "gfx" + version / 10000 + Long.toHexString(version / 100 % 100) + Long.toHexString(version % 100);
    }

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
    public static Map<Integer, KfdNode> readAll(FileTree tree) {
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

    private static List<Link> links(FileTree tree, String folder) {
        List<Link> links = new ArrayList<>();
        for (String kind : List.of(DIRECT, "/p2p_links")) {
            for (String name : tree.list(folder + kind)) {
                Map<String, Long> link = properties(tree, folder + kind + "/" + name);
                long to = link.getOrDefault("node_to", -1L);
                if (to >= 0 && to <= Integer.MAX_VALUE) {
                    links.add(new Link(
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
