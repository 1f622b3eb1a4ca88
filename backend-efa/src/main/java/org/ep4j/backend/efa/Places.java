package org.ep4j.backend.efa;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.engine.memory.Resources;

/**
 * Where this rank registers memory: once on each NIC, or once for each endpoint where a provider wants it. For one thread
 * while the backend opens; then it does not change.
 */
final class Places {
    private final List<Place> list = new ArrayList<>();

    private record Place(FabricDomain domain, long endpoint) {}

    /** The place of an endpoint, a new one where there is none. */
    int of(FabricDomain domain, long endpoint) {
        Place place = new Place(domain, domain.info().memoryOfEndpoint() ? endpoint : 0);
        int index = list.indexOf(place);
        if (index >= 0) {
            return index;
        }
        list.add(place);
        return list.size() - 1;
    }

    /** Registers memory at one place. */
    FabricDomain.Registered register(int place, long memory, long bytes, Resources resources) {
        Place at = list.get(place);
        return at.domain().register(memory, bytes, at.endpoint(), resources);
    }

    /** Registers memory at all places. */
    Registered register(long memory, long bytes, Resources resources) {
        List<Keys> mine = new ArrayList<>();
        List<Keys> told = new ArrayList<>();
        for (int place = 0; place < list.size(); place++) {
            FabricDomain.Registered one = register(place, memory, bytes, resources);
            mine.add(one.mine());
            told.add(one.told());
        }
        return new Registered(new Region(memory, bytes, mine), new Region(memory, bytes, told));
    }

    /**
     * Registered memory.
     *
     * @param mine as this rank writes from it
     * @param told as peers write to it
     */
    record Registered(Region mine, Region told) {}
}
