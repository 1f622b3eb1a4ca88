package org.ep4j.backend.nvlink;

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
import org.ep4j.engine.cuda.CudaSharing;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;

/** The backend, open on one rank. Owns the buffers that it made. */
final class IpcNvlinkBackend implements EpBackend {
    /** Sizes are multiples of it on every backend. */
    private static final long PAGE = 4096;

    private final OpenContext context;
    private final Collective collective;
    private final CudaSharing sharing;
    private final Object lock = new Object();
    private final Set<IpcNvlinkBuffer> buffers = new HashSet<>();
    private boolean closed;

    IpcNvlinkBackend(OpenContext context, Collective collective, CudaSharing sharing) {
        this.context = context;
        this.collective = collective;
        this.sharing = sharing;
    }

    @Override
    public String id() {
        return IpcNvlinkProvider.ID;
    }

    @Override
    public boolean allocates() {
        return true;
    }

    @Override
    public SymmetricBuffer expose(String name, long bytes, Optional<DeviceMemory> memory, Duration deadline) {
        checkOpen();
        Exposure exposure = new Exposure(context, collective, sharing, name);
        boolean done = false;
        try {
            Deadline end = Deadline.in(deadline);
            exposure.agreeOnSize(() -> checkArguments(bytes, memory), bytes, end);
            exposure.allocate(bytes, end);
            exposure.mapPeers(bytes, end);
            IpcNvlinkBuffer buffer = new IpcNvlinkBuffer(name, context.rank(), exposure.memory(), this::forget);
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
                    IpcNvlinkProvider.ID + " allocates by itself; pass Optional.empty()");
        }
    }

    private void checkOpen() {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(IpcNvlinkProvider.ID + " is closed on " + collective.label(context.rank())
                        + "; open it again to expose buffers");
            }
        }
    }

    private void remember(IpcNvlinkBuffer buffer) {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(IpcNvlinkProvider.ID + " was closed on " + collective.label(context.rank())
                        + " while " + buffer + " was made; close the backend after its buffers");
            }
            buffers.add(buffer);
        }
    }

    private void forget(IpcNvlinkBuffer buffer) {
        synchronized (lock) {
            buffers.remove(buffer);
        }
    }

    @Override
    public void close() {
        List<IpcNvlinkBuffer> open;
        synchronized (lock) {
            closed = true;
            open = new ArrayList<>(buffers);
        }
        open.forEach(IpcNvlinkBuffer::close);
    }

    @Override
    public String toString() {
        return IpcNvlinkProvider.ID + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + " on "
                + context.device().id();
    }
}
