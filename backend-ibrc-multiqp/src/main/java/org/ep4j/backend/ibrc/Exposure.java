package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpMismatchException;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;

/** The making of one symmetric buffer on one rank: register, tell the others, agree on the size. For one thread. */
final class Exposure {
    private final Collective collective;
    private final Ports ports;
    private final Buffers buffers;
    private final HostDevice host;
    private final boolean relaxedOrdering;
    private final Resources resources = new Resources();

    Exposure(Collective collective, Ports ports, Buffers buffers, HostDevice host, boolean relaxedOrdering) {
        this.collective = collective;
        this.ports = ports;
        this.buffers = buffers;
        this.host = host;
        this.relaxedOrdering = relaxedOrdering;
    }

    /**
     * Memory of a buffer, registered on all ranks.
     *
     * @param data what is written to
     * @param counters words, for each source rank by its index and then by counter
     * @param words to read the counters with
     * @param numbers of the buffer on each rank, by its index
     * @param resources gives everything back
     */
    record Exposed(Region data, Region counters, HostMemory words, List<Integer> numbers, Resources resources) {}

    /**
     * Registers memory, collectively.
     *
     * @param check refuses wrong arguments on this rank
     */
    Exposed run(String name, Runnable check, DeviceMemory memory, Deadline deadline) {
        List<Local> mine = new ArrayList<>(1);
        boolean done = false;
        try {
            List<BufferRecord> told = collective
                    .step("expose/" + name, deadline, () -> {
                        check.run();
                        mine.add(register(memory));
                        return mine.get(0).record().encode();
                    })
                    .stream()
                    .map(BufferRecord::decode)
                    .toList();
            checkEqualSizes(name, told);
            Local local = mine.get(0);
            Exposed exposed = new Exposed(
                    Regions.of(
                            memory.address(),
                            memory.byteSize(),
                            local.dataKeys().local(),
                            told.stream().map(BufferRecord::data).toList()),
                    Regions.of(
                            local.record().counters().address(),
                            local.words().size(),
                            local.counterKeys().local(),
                            told.stream().map(BufferRecord::counters).toList()),
                    local.words(),
                    told.stream().map(BufferRecord::number).toList(),
                    resources);
            done = true;
            return exposed;
        } finally {
            if (!done) {
                resources.close();
            }
        }
    }

    private record Local(BufferRecord record, HostMemory words, Ports.Keys dataKeys, Ports.Keys counterKeys) {}

    private Local register(DeviceMemory memory) {
        long bytes = (long) collective.ranks().size() * LinkMemory.COUNTERS;
        DeviceAllocation allocation = host.allocate(bytes);
        resources.add(allocation::close);
        HostMemory words = HostMemory.of(allocation.memory());
        int number = buffers.add(words);
        resources.add(() -> buffers.remove(number));
        long counters = allocation.memory().address();
        // Never with relaxed ordering: a counter may not pass the bytes before it.
        Ports.Keys counterKeys = ports.register(counters, bytes, false, resources);
        Ports.Keys dataKeys = ports.register(memory.address(), memory.byteSize(), relaxedOrdering, resources);
        BufferRecord record = new BufferRecord(
                memory.byteSize(),
                number,
                new MemoryRecord(memory.address(), dataKeys.remote()),
                new MemoryRecord(counters, counterKeys.remote()));
        return new Local(record, words, dataKeys, counterKeys);
    }

    private void checkEqualSizes(String name, List<BufferRecord> told) {
        for (int i = 1; i < told.size(); i++) {
            if (told.get(i).bytes() != told.get(0).bytes()) {
                throw new EpMismatchException("buffer \"" + name + "\" is "
                        + told.get(0).bytes() + " bytes on " + label(0) + " and "
                        + told.get(i).bytes() + " bytes on " + label(i)
                        + "; create it with the same size on all ranks");
            }
        }
    }

    private String label(int index) {
        return collective.label(collective.ranks().get(index));
    }
}
