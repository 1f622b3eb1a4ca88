package org.ep4j.doctor;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.topology.read.FileTree;

/** Links of AMD GPUs as the kernel's KFD tells them. */
final class KfdLinks {
    private static final String NODES = "/sys/class/kfd/kfd/topology/nodes";
    /** Linux kfd_crat.h, CRAT_IOLINK_FLAGS_NO_ATOMICS_64_BIT. */
    private static final long NO_ATOMICS_64 = 1 << 3;

    private KfdLinks() {}

    /** Links from a GPU to a processor that do not carry atomics of 64 bits. */
    static List<String> withoutAtomics(FileTree files) {
        Map<String, Boolean> isGpu = new HashMap<>();
        List<String> nodes = files.list(NODES);
        nodes.forEach(node ->
                isGpu.put(node, number(properties(files, NODES + "/" + node + "/properties"), "simd_count") > 0));
        List<String> found = new ArrayList<>();
        for (String node : nodes) {
            String links = NODES + "/" + node + "/io_links";
            for (String link : files.list(links)) {
                Map<String, String> properties = properties(files, links + "/" + link + "/properties");
                String to = properties.getOrDefault("node_to", "");
                boolean toProcessor = isGpu.getOrDefault(node, false) && !isGpu.getOrDefault(to, true);
                if (toProcessor && (number(properties, "flags") & NO_ATOMICS_64) != 0) {
                    found.add("KFD node " + node + " has no atomics of 64 bits to node " + to);
                }
            }
        }
        return found;
    }

    private static Map<String, String> properties(FileTree files, String path) {
        Map<String, String> all = new HashMap<>();
        files.text(path).orElse("").lines().forEach(line -> {
            String[] pair = line.strip().split("\\s+", 2);
            if (pair.length == 2) {
                all.put(pair[0], pair[1]);
            }
        });
        return all;
    }

    private static long number(Map<String, String> properties, String name) {
        String text = properties.getOrDefault(name, "");
        return text.matches("[0-9]{1,18}") ? Long.parseLong(text) : 0;
    }
}
