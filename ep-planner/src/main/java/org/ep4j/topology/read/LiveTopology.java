package org.ep4j.topology.read;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.TreeMap;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.model.TopologyCopy;

/** The running machine: what Linux shows, refined by the sources that are installed. */
final class LiveTopology {
    private static final String NAME = "this machine";

    private LiveTopology() {}

    static Topology read() {
        Topology topology = LinuxTopology.read(NAME, FileTree.of(Path.of("/")), System.getenv());
        Map<String, TopologySource> sources = new TreeMap<>();
        List<String> broken = new ArrayList<>();
        collect(ServiceLoader.load(TopologySource.class, TopologySource.class.getClassLoader()), sources, broken);
        collect(ServiceLoader.load(TopologySource.class), sources, broken);
        for (TopologySource source : sources.values()) {
            topology = refine(topology, source);
        }
        for (String warning : broken) {
            topology = warned(topology, warning);
        }
        return topology;
    }

    /** Asks a source, and keeps what was known when it fails against its contract. */
    static Topology refine(Topology topology, TopologySource source) {
        try {
            return source.refine(topology);
        } catch (RuntimeException | LinkageError e) {
            return warned(topology, "topology source " + source.id() + " failed: " + e);
        }
    }

    private static Topology warned(Topology topology, String warning) {
        return TopologyCopy.of(topology, topology.source(), part -> part)
                .warn(warning)
                .build();
    }

    private static void collect(
            ServiceLoader<TopologySource> loader, Map<String, TopologySource> sources, List<String> broken) {
        Iterator<TopologySource> found = loader.iterator();
        while (true) {
            try {
                if (!found.hasNext()) {
                    return;
                }
                TopologySource source = found.next();
                sources.putIfAbsent(source.id(), source);
            } catch (ServiceConfigurationError | LinkageError e) {
                broken.add("a topology source could not be loaded: " + e.getMessage());
            }
        }
    }
}
