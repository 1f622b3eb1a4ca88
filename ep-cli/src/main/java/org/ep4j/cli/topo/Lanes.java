package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.List;

/** Parallel lanes for horizontal wires: two wires share one only when they do not touch. */
final class Lanes {
    private record Span(double from, double to) {}

    private final List<List<Span>> lanes = new ArrayList<>();

    /** The first lane with room between two places. */
    int take(double from, double to) {
        for (int i = 0; i < lanes.size(); i++) {
            if (lanes.get(i).stream().allMatch(span -> span.to() < from || to < span.from())) {
                lanes.get(i).add(new Span(from, to));
                return i;
            }
        }
        lanes.add(new ArrayList<>(List.of(new Span(from, to))));
        return lanes.size() - 1;
    }

    int count() {
        return lanes.size();
    }
}
