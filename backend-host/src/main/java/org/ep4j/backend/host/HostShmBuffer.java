package org.ep4j.backend.host;

import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.SymmetricBuffer;

/** One symmetric buffer on one rank: its own memory and its mappings of the peers'. Safe for use from several threads. */
final class HostShmBuffer implements SymmetricBuffer, MappedPeers {
    private final String name;
    private final Device device;
    private final int rank;
    private final Map<Integer, Mapping> mappings;
    private final Consumer<HostShmBuffer> onClose;
    private final AtomicBoolean open = new AtomicBoolean(true);

    HostShmBuffer(
            String name, Device device, int rank, Map<Integer, Mapping> mappings, Consumer<HostShmBuffer> onClose) {
        this.name = name;
        this.device = device;
        this.rank = rank;
        this.mappings = Map.copyOf(mappings);
        this.onClose = onClose;
    }

    @Override
    public DeviceMemory local() {
        return peer(rank);
    }

    /** The memory of a rank; of this rank too, where it equals {@link #local()}. */
    @Override
    public DeviceMemory peer(int peer) {
        Mapping mapping = mappings.get(peer);
        if (mapping == null) {
            throw new IllegalArgumentException("rank " + peer + " is not connected to rank " + rank + " by "
                    + HostShmProvider.ID + ", which connects it to "
                    + mappings.keySet().stream()
                            .filter(r -> r != rank)
                            .sorted()
                            .map(String::valueOf)
                            .collect(Collectors.joining(", ")));
        }
        if (!open.get()) {
            throw new EpStateException(this + " is closed, its memory is unmapped; do not use a buffer after close()");
        }
        return new DeviceMemory(mapping.address(), mapping.bytes(), device);
    }

    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            mappings.values().forEach(Mapping::unmap);
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return HostShmProvider.ID + " buffer \"" + name + "\" of rank " + rank;
    }
}
