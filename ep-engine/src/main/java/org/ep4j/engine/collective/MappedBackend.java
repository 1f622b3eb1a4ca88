package org.ep4j.engine.collective;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;

/**
 * A backend, open on one rank, that allocates symmetric memory and maps that of the peers: its buffers are
 * {@link MappedPeers}. It owns them until they are closed.
 */
public final class MappedBackend implements EpBackend {
    /** Smallest page of memory; sizes are multiples of it on every backend. */
    private static final long PAGE = 4096;

    private final int rank;
    private final Collective collective;
    private final String where;
    private final Function<String, SymmetricAllocation> allocation;
    private final Object lock = new Object();
    private final Set<MappedBuffer> buffers = new HashSet<>();
    private boolean closed;

    /**
     * Opens it; nothing is allocated yet.
     *
     * @param where its memory is, for messages
     * @param allocation begins the buffer of a name
     */
    public MappedBackend(
            OpenContext context,
            Collective collective,
            String where,
            Function<String, SymmetricAllocation> allocation) {
        this.rank = context.rank();
        this.collective = collective;
        this.where = where;
        this.allocation = allocation;
    }

    @Override
    public String id() {
        return collective.backend();
    }

    @Override
    public boolean allocates() {
        return true;
    }

    @Override
    public SymmetricBuffer expose(String name, long bytes, Optional<DeviceMemory> memory, Duration deadline) {
        checkOpen();
        SymmetricAllocation made = allocation.apply(name);
        boolean done = false;
        try {
            var mapped = made.make(() -> checkArguments(bytes, memory), bytes, Deadline.in(deadline));
            MappedBuffer buffer = new MappedBuffer(id(), name, rank, mapped, made::undo, this::forget);
            remember(buffer);
            done = true;
            return buffer;
        } finally {
            if (!done) {
                made.undo();
            }
        }
    }

    private void checkArguments(long bytes, Optional<DeviceMemory> memory) {
        if (bytes <= 0 || bytes % PAGE != 0) {
            throw new EpArgumentException(
                    "bytes", bytes, "a positive multiple of " + PAGE, "round the size up to whole pages");
        }
        if (memory.isPresent()) {
            throw new EpArgumentException(
                    "memory", memory.get(), "empty", id() + " allocates by itself; pass Optional.empty()");
        }
    }

    private void checkOpen() {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(
                        id() + " is closed on " + collective.label(rank) + "; open it again to expose buffers");
            }
        }
    }

    private void remember(MappedBuffer buffer) {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(id() + " was closed on " + collective.label(rank) + " while " + buffer
                        + " was made; close the backend after its buffers");
            }
            buffers.add(buffer);
        }
    }

    private void forget(MappedBuffer buffer) {
        synchronized (lock) {
            buffers.remove(buffer);
        }
    }

    @Override
    public void close() {
        List<MappedBuffer> open;
        synchronized (lock) {
            closed = true;
            open = List.copyOf(buffers);
        }
        open.forEach(MappedBuffer::close);
    }

    @Override
    public String toString() {
        return id() + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + " " + where;
    }
}
