package org.ep4j.topology.model;

import com.google.common.graph.MutableValueGraph;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Merges the two levels that a Broadcom PEX switch shows of itself. PEX880xx and PEX890xx are one chip that appears as an
 * upper switch with further switches below it, so devices below it are one switch apart and not several. The ids are those
 * of NCCL ({@code graph/topo.cc}, {@code ncclTopoFlattenBcmSwitches}); board makers that set their own subsystem ids are
 * not recognised, there as here.
 */
final class BroadcomSwitches {
    /** The low 12 bits of the subsystem device tell boards apart. */
    private static final long MASK = ~0xfffL;

    private static final long GEN4 = 0x1000_c010_1000_a000L;
    private static final long GEN5_UPPER = 0x1000_c030_1000_0000L;
    private static final long GEN5_LOWER = 0x1000_c030_1000_1000L;

    private BroadcomSwitches() {}

    /** Merges in place. An upper switch comes before its lower ones in {@code parts}. */
    static void flatten(MutableValueGraph<Part, List<Link>> graph, Set<Part> parts) {
        List<PciSwitch> switches = parts.stream()
                .filter(PciSwitch.class::isInstance)
                .map(PciSwitch.class::cast)
                .toList();
        Set<PciSwitch> seen = new HashSet<>();
        for (PciSwitch upper : switches) {
            seen.add(upper);
            int generation = upper(upper.id());
            if (generation > 0 && graph.nodes().contains(upper)) {
                for (Part part : List.copyOf(graph.adjacentNodes(upper))) {
                    if (part instanceof PciSwitch lower && !seen.contains(lower) && lower(lower.id()) == generation) {
                        merge(graph, upper, lower);
                        parts.remove(lower);
                    }
                }
            }
        }
    }

    private static void merge(MutableValueGraph<Part, List<Link>> graph, PciSwitch upper, PciSwitch lower) {
        for (Part part : List.copyOf(graph.adjacentNodes(lower))) {
            if (!part.equals(upper)) {
                List<Link> links = new ArrayList<>(graph.edgeValue(upper, part).orElse(List.of()));
                links.addAll(graph.edgeValue(lower, part).orElse(List.of()));
                graph.putEdgeValue(upper, part, List.copyOf(links));
            }
        }
        graph.removeNode(lower);
    }

    private static int upper(PciId id) {
        long key = key(id) & MASK;
        return key == GEN4 ? 4 : key == GEN5_UPPER ? 5 : 0;
    }

    private static int lower(PciId id) {
        long key = key(id) & MASK;
        return key == GEN4 ? 4 : key == GEN5_LOWER ? 5 : 0;
    }

    private static long key(PciId id) {
        return word(id.vendor()) << 48 | word(id.device()) << 32 | word(id.subVendor()) << 16 | word(id.subDevice());
    }

    private static long word(int id) {
        return id & 0xffffL;
    }
}
