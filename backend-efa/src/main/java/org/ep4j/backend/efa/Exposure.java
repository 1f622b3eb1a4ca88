package org.ep4j.backend.efa;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.Resources;

/** The making of one symmetric buffer on one rank: register, tell the others, agree on the size. For one thread. */
final class Exposure {
    private final Collective collective;
    private final Places places;
    private final Buffers buffers;

    Exposure(Collective collective, Places places, Buffers buffers) {
        this.collective = collective;
        this.places = places;
        this.buffers = buffers;
    }

    /**
     * Memory of a buffer, registered on all ranks.
     *
     * @param data of this rank
     * @param theirs of all ranks, by index
     * @param numbers of the buffer on each rank, by index
     * @param counters of this rank
     * @param resources give it back
     */
    record Exposed(Region data, List<Region> theirs, List<Integer> numbers, Counters counters, Resources resources) {}

    private record Local(int number, Counters counters, Places.Registered data) {}

    /**
     * Registers memory, collectively.
     *
     * @param check refuses wrong arguments on this rank
     */
    Exposed run(String name, Runnable check, ExposedMemory memory, Deadline deadline) {
        Resources resources = new Resources();
        List<Local> mine = new ArrayList<>(1);
        boolean done = false;
        try {
            List<BufferRecord> given = collective
                    .step("expose/" + name, deadline, () -> {
                        check.run();
                        Local local = register(memory, resources);
                        mine.add(local);
                        return BufferRecord.CODEC.encode(
                                new BufferRecord(local.number(), local.data().told()));
                    })
                    .stream()
                    .map(BufferRecord.CODEC::decode)
                    .toList();
            collective.requireEqualSizes(
                    name, given.stream().map(one -> one.data().bytes()).toList());
            List<BufferRecord> told = collective.byOpened(given, BufferRecord.ABSENT);
            Local local = mine.get(0);
            Exposed exposed = new Exposed(
                    local.data().mine(),
                    told.stream().map(BufferRecord::data).toList(),
                    told.stream().map(BufferRecord::number).toList(),
                    local.counters(),
                    resources);
            done = true;
            return exposed;
        } finally {
            if (!done) {
                resources.close();
            }
        }
    }

    private Local register(ExposedMemory memory, Resources resources) {
        Counters counters = new Counters(collective.opened());
        int number = buffers.add(counters);
        resources.add(() -> buffers.remove(number));
        return new Local(number, counters, places.register(memory, resources));
    }
}
