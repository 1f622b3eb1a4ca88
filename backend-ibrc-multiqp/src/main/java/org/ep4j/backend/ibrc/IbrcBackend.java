package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.ep4j.engine.collective.Collective;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.memory.Resources;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.LinkTraffic;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.spi.TrafficSource;

/** The backend, open on one rank. Owns ports, queue pairs, threads, and the buffers that it made. */
final class IbrcBackend implements EpBackend, TrafficSource {
    /** What is under way when a buffer closes has this long to be acknowledged by the NICs of the peers. */
    static final Duration LINGER = Duration.ofSeconds(2);

    /** Sizes are multiples of it on every backend. */
    private static final long PAGE = 4096;

    private final OpenContext context;
    private final Collective collective;
    private final Ports ports;
    private final Map<Integer, Link> links;
    private final Buffers numbers;
    private final boolean atomics;
    private final Resources resources;
    private final ProgressThreads threads;
    private final Object lock = new Object();
    private final Set<IbrcBuffer> buffers = new HashSet<>();
    private boolean closed;

    IbrcBackend(
            OpenContext context,
            Collective collective,
            Ports ports,
            Map<Integer, Link> links,
            Buffers numbers,
            boolean atomics,
            Resources resources) {
        this.context = context;
        this.collective = collective;
        this.ports = ports;
        this.links = Map.copyOf(links);
        this.numbers = numbers;
        this.atomics = atomics;
        this.resources = resources;
        this.threads = new ProgressThreads(context, ports, List.copyOf(links.values()), resources);
        threads.start();
    }

    @Override
    public String id() {
        return IbrcProvider.ID;
    }

    @Override
    public boolean allocates() {
        return false;
    }

    @Override
    public SymmetricBuffer expose(String name, long bytes, Optional<DeviceMemory> memory, Duration deadline) {
        checkOpen();
        Exposure exposure =
                new Exposure(collective, ports, numbers, context.config().get(IbrcKeys.RELAXED_ORDERING));
        DeviceMemory given =
                memory.orElseGet(() -> new DeviceMemory(0, 0, context.device().id()));
        Exposure.Exposed exposed =
                exposure.run(name, () -> checkArguments(bytes, memory), given, Deadline.in(deadline));
        IbrcBuffer buffer = new IbrcBuffer(
                name,
                context.rank(),
                collective.ranks().indexOf(context.rank()),
                given,
                exposed,
                links,
                atomics,
                resources,
                this::forget);
        boolean done = false;
        try {
            remember(buffer);
            done = true;
            return buffer;
        } finally {
            if (!done) {
                buffer.close();
            }
        }
    }

    private static void checkArguments(long bytes, Optional<DeviceMemory> memory) {
        if (bytes <= 0 || bytes % PAGE != 0) {
            throw new EpArgumentException(
                    "bytes", bytes, "a positive multiple of " + PAGE, "round the size up to whole pages");
        }
        if (memory.isEmpty() || memory.get().byteSize() != bytes) {
            throw new EpArgumentException(
                    "memory",
                    memory.isEmpty() ? "empty" : memory.get(),
                    bytes + " bytes",
                    IbrcProvider.ID + " registers memory that was allocated elsewhere; pass all of it");
        }
        if (!memory.get().device().type().equals("host")) {
            throw new EpArgumentException(
                    "memory",
                    memory.get(),
                    "host memory",
                    "this version of " + IbrcProvider.ID + " sends from host memory; stage what is on a GPU");
        }
    }

    private void checkOpen() {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(IbrcProvider.ID + " is closed on " + collective.label(context.rank())
                        + "; open it again to expose buffers");
            }
        }
    }

    private void remember(IbrcBuffer buffer) {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(IbrcProvider.ID + " was closed on " + collective.label(context.rank())
                        + " while " + buffer + " was made; close the backend after its buffers");
            }
            buffers.add(buffer);
        }
    }

    private void forget(IbrcBuffer buffer) {
        synchronized (lock) {
            buffers.remove(buffer);
        }
    }

    @Override
    public List<LinkTraffic> traffic() {
        return links.values().stream()
                .map(Link::traffic)
                .sorted(Comparator.comparingInt(LinkTraffic::peer))
                .toList();
    }

    @Override
    public void close() {
        List<IbrcBuffer> open;
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
            open = new ArrayList<>(buffers);
        }
        open.forEach(IbrcBuffer::close);
        threads.close();
        links.values().forEach(link -> link.end("the backend is closed on this rank"));
        threads.release();
    }

    @Override
    public String toString() {
        return IbrcProvider.ID + " between ranks "
                + collective.ranks().stream().map(String::valueOf).collect(Collectors.joining(", ")) + " over "
                + ports.list().stream().map(port -> port.record().name()).collect(Collectors.joining(", "))
                + (atomics ? ", counters by atomic operations" : "");
    }
}
