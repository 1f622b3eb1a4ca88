package org.ep4j.transport;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.ep4j.Bootstrap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.SymmetricBuffer;

/**
 * A backend, open on one rank, that allocates symmetric memory and maps that of the peers: its buffers are
 * {@link MappedPeers}. It owns them until they are closed.
 */
public final class MappedBackend implements RecoverableBackend, AllocatesMemory {
    private final int rank;
    private final Collective collective;
    private final String where;
    private final BiFunction<Collective, String, SymmetricAllocation> allocation;
    private final OpenBuffers<MappedBuffer> buffers;
    private final Optional<String> detour;

    /**
     * Opens the backend; nothing is allocated yet.
     *
     * @param where its memory is, for messages
     * @param detour which peer is not reached over links between GPUs alone, and by what; empty when all are
     * @param allocation begins the buffer of a name, among the ranks of a collective
     */
    public MappedBackend(
            OpenContext context,
            Collective collective,
            String where,
            Optional<String> detour,
            BiFunction<Collective, String, SymmetricAllocation> allocation) {
        this(context.rank(), collective, where, detour, allocation, new OpenBuffers<>(collective, context.rank()));
    }

    private MappedBackend(
            int rank,
            Collective collective,
            String where,
            Optional<String> detour,
            BiFunction<Collective, String, SymmetricAllocation> allocation,
            OpenBuffers<MappedBuffer> buffers) {
        this.rank = rank;
        this.collective = collective;
        this.where = where;
        this.detour = detour;
        this.allocation = allocation;
        this.buffers = buffers;
    }

    @Override
    public String id() {
        return collective.backend();
    }

    @Override
    public Optional<String> relaxedStoresRefusal() {
        return detour.map(peer -> peer + ", where an acknowledged write may not have arrived yet");
    }

    @Override
    public EpBackend among(Bootstrap members, List<Integer> ranks) {
        return new MappedBackend(rank, collective.among(members, ranks), where, detour, allocation, buffers);
    }

    @Override
    public Set<Purpose> purposes() {
        return Set.of(Purpose.MAPPED);
    }

    @Override
    public SymmetricBuffer allocate(String name, long bytes, Purpose purpose, Duration timeout) {
        buffers.checkOpen();
        SymmetricAllocation made = allocation.apply(collective, name);
        Map<Integer, DeviceMemory> mapped;
        boolean done = false;
        try {
            mapped = made.make(
                    () -> BufferArguments.checkAllocated(id(), bytes, purpose, purposes()),
                    bytes,
                    Deadline.in(timeout));
            done = true;
        } finally {
            if (!done) {
                made.undo();
            }
        }
        return buffers.add(new MappedBuffer(name, mapped, made::undo));
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

    /** One symmetric buffer on one rank: its own memory and the peers' as mapped here. Safe for use from several threads. */
    private final class MappedBuffer implements SymmetricBuffer, MappedPeers {
        private final String name;
        private final Map<Integer, DeviceMemory> memory;
        private final Runnable release;
        private final AtomicBoolean open = new AtomicBoolean(true);

        MappedBuffer(String name, Map<Integer, DeviceMemory> memory, Runnable release) {
            this.name = name;
            this.memory = Map.copyOf(memory);
            this.release = release;
        }

        @Override
        public DeviceMemory local() {
            return peer(rank);
        }

        /** The memory of a rank; of this rank too, where it equals {@link #local()}. */
        @Override
        public DeviceMemory peer(int peer) {
            DeviceMemory mapped = memory.get(peer);
            if (mapped == null) {
                throw new IllegalArgumentException("rank " + peer + " is not connected to rank " + rank + " by " + id()
                        + ", which connects rank " + rank + " to "
                        + memory.keySet().stream()
                                .filter(r -> r != rank)
                                .sorted()
                                .map(String::valueOf)
                                .collect(Collectors.joining(", ")));
            }
            if (!open.get()) {
                throw new EpStateException(
                        this + " is closed and its memory is unmapped; do not use a buffer after close()");
            }
            return mapped;
        }

        @Override
        public void close() {
            if (open.compareAndSet(true, false)) {
                release.run();
                buffers.remove(this);
            }
        }

        @Override
        public String toString() {
            return id() + " buffer \"" + name + "\" of rank " + rank;
        }
    }
}
