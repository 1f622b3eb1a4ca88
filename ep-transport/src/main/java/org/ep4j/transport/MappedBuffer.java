package org.ep4j.transport;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.SymmetricBuffer;

/** One symmetric buffer on one rank: its own memory and the peers' as mapped here. Safe for use from several threads. */
final class MappedBuffer implements SymmetricBuffer, MappedPeers {
    private final String backend;
    private final String name;
    private final int rank;
    private final Map<Integer, DeviceMemory> memory;
    private final Runnable release;
    private final Consumer<MappedBuffer> onClose;
    private final AtomicBoolean open = new AtomicBoolean(true);

    /**
     * Over memory that is mapped already.
     *
     * @param memory by rank, this one's among them
     * @param release gives it back; run once
     * @param onClose is told afterwards
     */
    MappedBuffer(
            String backend,
            String name,
            int rank,
            Map<Integer, DeviceMemory> memory,
            Runnable release,
            Consumer<MappedBuffer> onClose) {
        this.backend = backend;
        this.name = name;
        this.rank = rank;
        this.memory = Map.copyOf(memory);
        this.release = release;
        this.onClose = onClose;
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
            throw new IllegalArgumentException("rank " + peer + " is not connected to rank " + rank + " by " + backend
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
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return backend + " buffer \"" + name + "\" of rank " + rank;
    }
}
