package org.ep4j.topology.model;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** Copies topologies with changes, for readers that complete or correct a topology from another source. */
public final class TopologyCopy {
    private TopologyCopy() {}

    /**
     * Returns a builder with all parts, links and distances of a topology.
     *
     * @param topology where to copy from
     * @param source name of the copy for messages
     * @param change what becomes of every part: itself, or one of the same kind with more known; links, distances and
     *     order stay
     */
    public static Topology.Builder of(Topology topology, String source, UnaryOperator<Part> change) {
        return of(topology, source, name -> name, change);
    }

    /**
     * As {@link #of(Topology, String, UnaryOperator)}, but also changes the names of hosts.
     *
     * @param host what becomes of the name of every host
     */
    public static Topology.Builder of(
            Topology topology, String source, UnaryOperator<String> host, UnaryOperator<Part> change) {
        return some(topology, source, host, part -> Optional.of(change.apply(part)));
    }

    /** Returns a copy of a topology with one more warning. */
    public static Topology warned(Topology topology, String warning) {
        return of(topology, topology.source(), part -> part).warn(warning).build();
    }

    /**
     * Returns a builder with some parts of a topology, and their links and distances.
     *
     * @param topology where to copy from
     * @param source name of the copy for messages
     * @param change what becomes of every part, as in {@link #of}; empty leaves it out with its links and distances
     */
    public static Topology.Builder some(Topology topology, String source, Function<Part, Optional<Part>> change) {
        return some(topology, source, name -> name, change);
    }

    private static Topology.Builder some(
            Topology topology, String source, UnaryOperator<String> host, Function<Part, Optional<Part>> change) {
        Topology.Builder copy = Topology.builder(source).merged();
        topology.hosts().forEach(old -> copy.host(host.apply(old.name())));
        Map<Part, Part> changed = new LinkedHashMap<>();
        Map<Part, Integer> place = new HashMap<>();
        for (Part part : topology.parts()) {
            change.apply(part).ifPresent(made -> {
                place.put(part, place.size());
                changed.put(part, made);
                copy.add(made);
            });
        }
        changed.forEach((part, made) -> {
            for (Part neighbour : topology.neighbours(part)) {
                if (place.getOrDefault(part, 0) < place.getOrDefault(neighbour, 0)) {
                    topology.links(part, neighbour)
                            .forEach(link -> copy.link(made, changed.getOrDefault(neighbour, neighbour), link));
                }
            }
        });
        if (topology.stated()) {
            changed.forEach((part, made) -> topology.distances(part).forEach((other, distance) -> {
                if (changed.containsKey(other)) {
                    copy.state(made, changed.getOrDefault(other, other), distance);
                }
            }));
        }
        topology.warnings().forEach(copy::warn);
        topology.assumptions().forEach(copy::assume);
        return copy;
    }
}
