package org.ep4j.engine.collective;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.ep4j.DeviceMemory;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.SymmetricBuffer;

/**
 * A backend, open on one rank, that allocates symmetric memory and maps that of the peers: its buffers are
 * {@link MappedPeers}. It owns them until they are closed.
 */
public final class MappedBackend implements RecoverableBackend {
    private final int rank;
    private final Collective collective;
    private final String where;
    private final BiFunction<Collective, String, SymmetricAllocation> allocation;
    private final OpenBuffers<MappedBuffer> buffers;
    private final Optional<String> detour;

    /**
     * Opens it; nothing is allocated yet.
     *
     * @param where its memory is, for messages
     * @param allocation begins the buffer of a name, among the ranks of a collective
     */
    public MappedBackend(
            OpenContext context,
            Collective collective,
            String where,
            BiFunction<Collective, String, SymmetricAllocation> allocation) {
        this(context, collective, where, Optional.of("its symmetric memory is memory of the host"), allocation);
    }

    /**
     * As above.
     *
     * @param detour see {@link #detour}
     */
    public MappedBackend(
            OpenContext context,
            Collective collective,
            String where,
            Optional<String> detour,
            BiFunction<Collective, String, SymmetricAllocation> allocation) {
        this.detour = detour;
        this.rank = context.rank();
        this.collective = collective;
        this.where = where;
        this.allocation = allocation;
        this.buffers = new OpenBuffers<>(collective, rank);
    }

    @Override
    public String id() {
        return collective.backend();
    }

    /** Which peer is not reached over links between GPUs alone, and by what; empty when all are. */
    public Optional<String> detour() {
        return detour;
    }

    @Override
    public boolean allocates() {
        return true;
    }

    @Override
    public SymmetricBuffer expose(String name, long bytes, Optional<ExposedMemory> memory, Duration deadline) {
        return expose(collective, name, bytes, memory, deadline);
    }

    @Override
    public SymmetricBuffer exposeAmong(
            Bootstrap members,
            List<Integer> ranks,
            String name,
            long bytes,
            Optional<ExposedMemory> memory,
            Duration deadline) {
        return expose(collective.among(members, ranks), name, bytes, memory, deadline);
    }

    private SymmetricBuffer expose(
            Collective ranks, String name, long bytes, Optional<ExposedMemory> memory, Duration deadline) {
        buffers.checkOpen();
        SymmetricAllocation made = allocation.apply(ranks, name);
        Map<Integer, DeviceMemory> mapped;
        boolean done = false;
        try {
            mapped = made.make(() -> ExposeArguments.checkAllocated(id(), bytes, memory), bytes, Deadline.in(deadline));
            done = true;
        } finally {
            if (!done) {
                made.undo();
            }
        }
        return buffers.add(new MappedBuffer(id(), name, rank, mapped, made::undo, buffers::remove));
    }

    @Override
    public void close() {
        buffers.close();
    }

    @Override
    public String toString() {
        return id() + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + " " + where;
    }
}
