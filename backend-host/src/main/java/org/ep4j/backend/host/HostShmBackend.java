package org.ep4j.backend.host;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;

/** The backend, open on one rank. Owns the buffers that it made. */
final class HostShmBackend implements EpBackend {
    /** Smallest page of memory; sizes are multiples of it. */
    private static final long PAGE = 4096;

    private final OpenContext context;
    private final Collective collective;
    private final Libc libc;
    private final ShmFolder folder;
    private final Object lock = new Object();
    private final Set<HostShmBuffer> buffers = new HashSet<>();
    private boolean closed;

    HostShmBackend(OpenContext context, Collective collective, Libc libc, ShmFolder folder) {
        this.context = context;
        this.collective = collective;
        this.libc = libc;
        this.folder = folder;
    }

    @Override
    public String id() {
        return HostShmProvider.ID;
    }

    @Override
    public boolean allocates() {
        return true;
    }

    @Override
    public SymmetricBuffer expose(String name, long bytes, Optional<DeviceMemory> memory, Duration deadline) {
        checkOpen();
        Exposure exposure = new Exposure(context, collective, libc, folder, name);
        boolean done = false;
        try {
            Deadline end = Deadline.in(deadline);
            exposure.agreeOnSize(() -> checkArguments(bytes, memory), bytes, end);
            exposure.make(bytes, end);
            exposure.mapPeers(bytes, end);
            exposure.removeName();
            HostShmBuffer buffer =
                    new HostShmBuffer(name, context.device().id(), context.rank(), exposure.mappings(), this::forget);
            remember(buffer);
            done = true;
            return buffer;
        } finally {
            if (!done) {
                exposure.undo();
            }
        }
    }

    private static void checkArguments(long bytes, Optional<DeviceMemory> memory) {
        if (bytes <= 0 || bytes % PAGE != 0) {
            throw new EpArgumentException(
                    "bytes", bytes, "a positive multiple of " + PAGE, "round the size up to whole pages");
        }
        if (memory.isPresent()) {
            throw new EpArgumentException(
                    "memory",
                    memory.get(),
                    "empty",
                    HostShmProvider.ID + " allocates by itself; pass Optional.empty()");
        }
    }

    private void checkOpen() {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(HostShmProvider.ID + " is closed on " + collective.label(context.rank())
                        + "; open it again to expose buffers");
            }
        }
    }

    private void remember(HostShmBuffer buffer) {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(HostShmProvider.ID + " was closed on " + collective.label(context.rank())
                        + " while " + buffer + " was made; close the backend after its buffers");
            }
            buffers.add(buffer);
        }
    }

    private void forget(HostShmBuffer buffer) {
        synchronized (lock) {
            buffers.remove(buffer);
        }
    }

    @Override
    public void close() {
        List<HostShmBuffer> open;
        synchronized (lock) {
            closed = true;
            open = new ArrayList<>(buffers);
        }
        open.forEach(HostShmBuffer::close);
    }

    @Override
    public String toString() {
        return HostShmProvider.ID + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + " in " + folder;
    }
}
