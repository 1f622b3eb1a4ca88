package org.ep4j.backend.nvlink;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.engine.cuda.SharedMemory;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.SymmetricBuffer;

/** One symmetric buffer on one rank: its own memory and the peers' as mapped here. Safe for use from several threads. */
final class IpcNvlinkBuffer implements SymmetricBuffer, MappedPeers {
    private final String name;
    private final int rank;
    private final Map<Integer, SharedMemory> memory;
    private final Consumer<IpcNvlinkBuffer> onClose;
    private final AtomicBoolean open = new AtomicBoolean(true);

    /** @param memory by rank, this one's among them */
    IpcNvlinkBuffer(String name, int rank, Map<Integer, SharedMemory> memory, Consumer<IpcNvlinkBuffer> onClose) {
        this.name = name;
        this.rank = rank;
        this.memory = Map.copyOf(memory);
        this.onClose = onClose;
    }

    @Override
    public DeviceMemory local() {
        return peer(rank);
    }

    /** The memory of a rank; of this rank too, where it equals {@link #local()}. */
    @Override
    public DeviceMemory peer(int peer) {
        SharedMemory mapped = memory.get(peer);
        if (mapped == null) {
            throw new IllegalArgumentException("rank " + peer + " is not connected to rank " + rank + " by "
                    + IpcNvlinkProvider.ID + ", which connects it to "
                    + memory.keySet().stream()
                            .filter(r -> r != rank)
                            .sorted()
                            .map(String::valueOf)
                            .collect(Collectors.joining(", ")));
        }
        if (!open.get()) {
            throw new EpStateException(this + " is closed, its memory is unmapped; do not use a buffer after close()");
        }
        return mapped.memory();
    }

    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            memory.values().forEach(SharedMemory::close);
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return IpcNvlinkProvider.ID + " buffer \"" + name + "\" of rank " + rank;
    }
}
