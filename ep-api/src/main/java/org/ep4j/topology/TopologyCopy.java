package org.ep4j.topology;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Topologies made from others, by readers that add to what another source told. */
public final class TopologyCopy {
    private TopologyCopy() {}

    /**
     * A builder with everything of a topology.
     *
     * @param topology where to copy from
     * @param source name of the copy for messages
     * @param change what becomes of every part: itself, or one of the same kind with more known; links, distances and
     *     order stay
     */
    public static Topology.Builder of(Topology topology, String source, UnaryOperator<Part> change) {
        Topology.Builder copy = Topology.builder(source);
        topology.hosts().forEach(host -> copy.host(host.name()));
        List<Part> parts = topology.parts();
        Map<Part, Part> changed = new HashMap<>();
        Map<Part, Integer> place = new HashMap<>();
        for (int i = 0; i < parts.size(); i++) {
            Part made = change.apply(parts.get(i));
            place.put(parts.get(i), i);
            changed.put(parts.get(i), made);
            copy.add(made);
        }
        for (Part part : parts) {
            for (Part neighbour : topology.neighbours(part)) {
                if (place.getOrDefault(part, 0) < place.getOrDefault(neighbour, 0)) {
                    topology.links(part, neighbour)
                            .forEach(link -> copy.link(
                                    changed.getOrDefault(part, part),
                                    changed.getOrDefault(neighbour, neighbour),
                                    link));
                }
            }
        }
        if (topology.stated()) {
            for (Part part : parts) {
                topology.distances(part)
                        .forEach((other, distance) -> copy.state(
                                changed.getOrDefault(part, part), changed.getOrDefault(other, other), distance));
            }
        }
        topology.warnings().forEach(copy::warn);
        return copy;
    }
}
