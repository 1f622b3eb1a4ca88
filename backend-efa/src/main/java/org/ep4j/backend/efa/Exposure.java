package org.ep4j.backend.efa;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.memory.Resources;
import org.ep4j.spi.ExposedMemory;

/** The making of one symmetric buffer on one rank: register, tell the others, agree on the size. For one thread. */
final class Exposure {
    private final Collective collective;
    private final List<Integer> indexes;
    private final Places places;
    private final Buffers buffers;

    /**
     * Not begun yet.
     *
     * @param collective among the ranks that take part
     * @param indexes ranks that opened the backend; their places in this list are their indexes for good
     */
    Exposure(Collective collective, List<Integer> indexes, Places places, Buffers buffers) {
        this.collective = collective;
        this.indexes = List.copyOf(indexes);
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
            List<BufferRecord> told = collective
                    .step("expose/" + name, deadline, () -> {
                        check.run();
                        Local local = register(memory, resources);
                        mine.add(local);
                        return new BufferRecord(local.number(), local.data().told()).encode();
                    })
                    .stream()
                    .map(BufferRecord::decode)
                    .toList();
            collective.requireEqualSizes(
                    name, told.stream().map(one -> one.data().bytes()).toList());
            List<BufferRecord> all = byIndex(indexes, collective.ranks(), told);
            Local local = mine.get(0);
            Exposed exposed = new Exposed(
                    local.data().mine(),
                    all.stream().map(BufferRecord::data).toList(),
                    all.stream().map(BufferRecord::number).toList(),
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

    /** Records by the index of their ranks, which those that take part need not fill. */
    static List<BufferRecord> byIndex(List<Integer> indexes, List<Integer> ranks, List<BufferRecord> told) {
        return indexes.stream()
                .map(ranks::indexOf)
                .map(i -> i < 0 ? BufferRecord.ABSENT : told.get(i))
                .toList();
    }

    private Local register(ExposedMemory memory, Resources resources) {
        Counters counters = new Counters(indexes.size());
        int number = buffers.add(counters);
        resources.add(() -> buffers.remove(number));
        return new Local(number, counters, places.register(memory, resources));
    }
}
