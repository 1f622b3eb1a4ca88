package org.ep4j.backend.efa;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.memory.Resources;

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

    private FabricDomain.Registered register(Place at, ExposedMemory memory, Resources resources) {
        return at.domain().register(memory, at.endpoint(), resources);
    }

    /** What is against registering a kind of memory everywhere. */
    Optional<String> refusal(ExposedMemory.Kind kind) {
        return list.stream().flatMap(at -> at.domain().refusal(kind).stream()).findFirst();
    }

    /** Registers memory at all places. */
    Registered register(ExposedMemory memory, Resources resources) {
        List<Keys> mine = new ArrayList<>();
        List<Keys> told = new ArrayList<>();
        for (Place place : list) {
            FabricDomain.Registered one = register(place, memory, resources);
            mine.add(one.mine());
            told.add(one.told());
        }
        long address = memory.memory().address();
        long bytes = memory.memory().byteSize();
        return new Registered(new Region(address, bytes, mine), new Region(address, bytes, told));
    }

    /**
     * Registered memory.
     *
     * @param mine as this rank writes from it
     * @param told as peers write to it
     */
    record Registered(Region mine, Region told) {}
}
