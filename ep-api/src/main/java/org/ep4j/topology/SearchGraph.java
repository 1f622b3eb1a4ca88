package org.ep4j.topology;

import com.google.common.graph.ValueGraph;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The graph of a topology with numbers for parts. Searches take many steps, and looking up a part by all that is known of it
 * would be most of each.
 */
final class SearchGraph {
    private final List<Part> parts;
    private final Map<Part, Integer> numbers = new HashMap<>();
    private final List<List<Way>> ways = new ArrayList<>();

    /**
     * A link from one part.
     *
     * @param to number of the part at its other end
     * @param link what it is
     */
    record Way(int to, Link link) {}

    SearchGraph(ValueGraph<Part, List<Link>> graph) {
        parts = List.copyOf(graph.nodes());
        for (Part part : parts) {
            numbers.put(part, numbers.size());
        }
        for (Part part : parts) {
            List<Way> from = new ArrayList<>();
            for (Part neighbour : graph.adjacentNodes(part)) {
                int to = numbers.getOrDefault(neighbour, -1);
                graph.edgeValue(part, neighbour).orElse(List.of()).forEach(link -> from.add(new Way(to, link)));
            }
            ways.add(from);
        }
    }

    int size() {
        return parts.size();
    }

    /** Number of a part, -1 where it is none of the graph. */
    int number(Part part) {
        return numbers.getOrDefault(part, -1);
    }

    Part part(int number) {
        return parts.get(number);
    }

    List<Way> ways(int from) {
        return ways.get(from);
    }
}
