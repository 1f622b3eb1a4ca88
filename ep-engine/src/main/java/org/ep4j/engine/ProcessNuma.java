package org.ep4j.engine;

import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import org.ep4j.topology.read.FileTree;

/** The NUMA node that this process is bound to. */
final class ProcessNuma {
    private static final String NODES = "/sys/devices/system/node";
    private static final int MOST = 1 << 16;

    private ProcessNuma() {}

    /** Number of the node when memory or processors are those of one node only, -1 otherwise. */
    static int of(FileTree files) {
        BitSet memory = allowed(files, "Mems_allowed_list:");
        if (memory.cardinality() == 1) {
            return memory.nextSetBit(0);
        }
        BitSet processors = allowed(files, "Cpus_allowed_list:");
        for (String name : files.list(NODES)) {
            if (name.matches("node\\d{1,4}") && !processors.isEmpty()) {
                BitSet outside = (BitSet) processors.clone();
                outside.andNot(
                        numbers(files.text(NODES + "/" + name + "/cpulist").orElse("")));
                if (outside.isEmpty()) {
                    return Integer.parseInt(name.substring("node".length()));
                }
            }
        }
        return -1;
    }

    private static BitSet allowed(FileTree files, String key) {
        Optional<String> line = files.text("/proc/self/status")
                .orElse("")
                .lines()
                .filter(text -> text.startsWith(key))
                .findFirst();
        return numbers(line.map(text -> text.substring(key.length())).orElse(""));
    }

    /** Reads {@code 0-3,8}. */
    private static BitSet numbers(String list) {
        BitSet numbers = new BitSet();
        for (String range : List.of(list.strip().split(",", -1))) {
            if (range.matches("\\d{1,5}(-\\d{1,5})?")) {
                int dash = range.indexOf('-');
                int first = Integer.parseInt(dash < 0 ? range : range.substring(0, dash));
                int last = Integer.parseInt(range.substring(dash + 1));
                numbers.set(first, Math.max(first, Math.min(MOST, last)) + 1);
            }
        }
        return numbers;
    }
}
