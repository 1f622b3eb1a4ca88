package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.Resources;
import org.ep4j.transport.memory.WordMemory;

/** The making of one symmetric buffer on one rank: register, tell the others, agree on the size. For one thread. */
final class Exposure {
    private final Collective collective;
    private final Ports ports;
    private final Buffers buffers;
    private final boolean relaxedOrdering;
    private final Collection<Link> links;
    private final ClosedCounters closed;
    private final Resources data = new Resources();
    private final Resources counted = new Resources();
    private boolean answered;

    /**
     * For one buffer.
     *
     * @param links to the other ranks of the buffer
     * @param closed gets the counters if this fails when peers may have been told of them
     */
    Exposure(
            Collective collective,
            Ports ports,
            Buffers buffers,
            boolean relaxedOrdering,
            Collection<Link> links,
            ClosedCounters closed) {
        this.collective = collective;
        this.ports = ports;
        this.buffers = buffers;
        this.relaxedOrdering = relaxedOrdering;
        this.links = links;
        this.closed = closed;
    }

    /**
     * Memory of a buffer, registered on all ranks.
     *
     * @param data what is written to
     * @param counters words, for each source rank by its index and then by counter
     * @param counted to read the counters with
     * @param handshake by which its ranks close it
     * @param numbers of the buffer on each rank, by its index
     * @param registered gives the data back
     * @param words gives the counters back
     */
    record Exposed(
            Region data,
            Region counters,
            Buffers.Counted counted,
            CloseHandshake handshake,
            List<Integer> numbers,
            Resources registered,
            Resources words) {}

    /**
     * Registers memory, collectively.
     *
     * @param check refuses wrong arguments on this rank
     */
    Exposed run(String name, Runnable check, ExposedMemory memory, Deadline deadline) {
        List<Local> mine = new ArrayList<>(1);
        boolean done = false;
        try {
            List<BufferRecord> given = collective
                    .step(
                            "expose/" + name,
                            deadline,
                            () -> {
                                check.run();
                                mine.add(register(memory));
                                return BufferRecord.CODEC.encode(mine.get(0).record());
                            },
                            () -> answered = true)
                    .stream()
                    .map(BufferRecord.CODEC::decode)
                    .toList();
            collective.requireEqualSizes(
                    name, given.stream().map(BufferRecord::bytes).toList());
            List<BufferRecord> records = collective.byOpened(given, BufferRecord.ABSENT);
            Local local = mine.get(0);
            Exposed exposed = new Exposed(
                    Region.ofData(
                            memory,
                            local.dataKeys().local(),
                            records.stream().map(BufferRecord::data).toList()),
                    Region.ofWords(
                            local.record().counters().address(),
                            local.counterKeys().local(),
                            records.stream().map(BufferRecord::counters).toList()),
                    local.counted(),
                    local.handshake(),
                    records.stream().map(BufferRecord::number).toList(),
                    data,
                    counted);
            done = true;
            return exposed;
        } finally {
            if (!done) {
                data.close();
                if (mine.isEmpty() || answered) {
                    // No rank has the buffer.
                    counted.close();
                } else {
                    // Peers that have finished this step will close the buffer.
                    closed.keep(mine.get(0).handshake(), links, counted);
                }
            }
        }
    }

    private record Local(
            BufferRecord record,
            Buffers.Counted counted,
            CloseHandshake handshake,
            Ports.Keys dataKeys,
            Ports.Keys counterKeys) {}

    private Local register(ExposedMemory memory) {
        int ranks = collective.opened();
        long bytes = CloseHandshake.bytes(ranks);
        WordMemory held = WordMemory.allocate(bytes);
        counted.hold(held);
        HostMemory words = held.words();
        CloseHandshake handshake = new CloseHandshake(words, ranks);
        handshake.prepare();
        Buffers.Counted told = new Buffers.Counted(words, new AtomicLongArray(ranks));
        int number = buffers.add(told);
        counted.add(() -> buffers.remove(number));
        long counters = held.address();
        Ports.Keys counterKeys = ports.registerWords(counters, bytes, counted);
        Ports.Keys dataKeys = ports.register(memory, dataAccess(relaxedOrdering, memory), data);
        BufferRecord record = new BufferRecord(
                memory.memory().byteSize(),
                number,
                new Region.Remote(memory.memory().address(), dataKeys.remote()),
                new Region.Remote(counters, counterKeys.remote()));
        return new Local(record, told, handshake, dataKeys, counterKeys);
    }

    /**
     * No more than data needs: what nobody reads from afar, nobody may. Memory of AMD GPUs is never written in relaxed order: what
     * makes writes seen there, a store of the host to a register of the GPU, pushes those before it that are ordered.
     */
    static Access dataAccess(boolean relaxedOrdering, ExposedMemory memory) {
        boolean relaxed = relaxedOrdering && !memory.memory().device().type().equals("hip");
        return relaxed ? Access.RELAXED_DATA : Access.DATA;
    }
}
