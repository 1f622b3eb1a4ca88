package org.ep4j.engine.gpu;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.EpShape;

/** Groups of several shapes, each made when a property first draws it and kept for the others. For one thread. */
final class GroupsByShape implements AutoCloseable {
    private final List<Setup> setups;
    private final Map<Integer, GpuAgainstHost> made = new LinkedHashMap<>();

    /** A shape, and the group's size. */
    record Setup(EpShape shape, int ranks) {}

    GroupsByShape(List<Setup> setups) {
        this.setups = setups;
    }

    static Setup setup(int ranks, EpShape.Builder shape) {
        return new Setup(shape.build(), ranks);
    }

    GpuAgainstHost get(int setup) {
        return made.computeIfAbsent(
                setup,
                s -> new GpuAgainstHost(setups.get(s).shape(), setups.get(s).ranks()));
    }

    @Override
    public void close() {
        made.values().forEach(GpuAgainstHost::close);
        made.clear();
    }
}
