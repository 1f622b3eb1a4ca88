package org.ep4j.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.DeviceMemory;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.memory.TrackedMemory;
import org.ep4j.engine.sync.FreshMemory;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.spi.SymmetricBuffer;

/**
 * The memory of a buffer whose ranks all map each other's through one backend: the newest, the one before it, and that through which
 * ranks agree on who goes on. What a rank gives back here stays as it is for other processes that have it mapped.
 */
final class MovableMemory implements FreshMemory {
    private final String name;
    private final long bytes;
    private final int rank;
    private final RecoverableBackend backend;
    private final EpDevice device;
    private final OpenBackends backends;
    private final Control control;
    /** What frees each memory, the newest first. */
    private final Deque<Runnable> memories = new ArrayDeque<>();

    private MovableMemory(
            String name,
            long bytes,
            int rank,
            RecoverableBackend backend,
            EpDevice device,
            OpenBackends backends,
            Control control) {
        this.name = name;
        this.bytes = bytes;
        this.rank = rank;
        this.backend = backend;
        this.device = device;
        this.backends = backends;
        this.control = control;
    }

    /** The backend by which all ranks of a plan map each other's memory, if there is one and its buffers can move. */
    static Optional<RecoverableBackend> backend(EpPlan plan, OpenBackends backends) {
        boolean mapped = plan.groups().stream()
                .map(group -> group.example().offer().kind())
                .allMatch(kind -> kind == PathKind.MAPPED || kind == PathKind.LOCAL);
        return mapped && backends.byId().size() == 1
                ? backends.byId().values().stream()
                        .filter(b -> b.allocates() && b instanceof RecoverableBackend)
                        .map(RecoverableBackend.class::cast)
                        .findFirst()
                : Optional.empty();
    }

    /**
     * Host memory through which the ranks of a buffer agree.
     *
     * @param memory by rank
     * @param free gives it back
     */
    record Control(List<HostMemory> memory, Runnable free) {
        /** Memory of the backend itself. Collective over all ranks. */
        static Control of(RecoverableBackend backend, String name, long bytes, int ranks, Duration setup) {
            SymmetricBuffer buffer = backend.expose(name + "-control", bytes, Optional.empty(), setup);
            MappedPeers peers = mapped(backend, buffer);
            return new Control(
                    IntStream.range(0, ranks)
                            .mapToObj(r -> HostMemory.of(peers.peer(r)))
                            .toList(),
                    buffer::close);
        }
    }

    /**
     * For a buffer whose first memory is not there yet.
     *
     * @param bytes of the buffer's symmetric memory
     * @param control closed with this
     */
    static MovableMemory create(
            String name,
            long bytes,
            int rank,
            RecoverableBackend backend,
            EpDevice device,
            OpenBackends backends,
            Control control) {
        return new MovableMemory(name, bytes, rank, backend, device, backends, control);
    }

    /** The memory through which ranks agree, by rank. */
    List<HostMemory> control() {
        return control.memory();
    }

    private static MappedPeers mapped(EpBackend backend, SymmetricBuffer buffer) {
        return buffer.as(MappedPeers.class)
                .orElseThrow(() -> new EpException(
                        "buffers of " + backend.id() + " do not map peers as its paths promise, a defect of it"));
    }

    /**
     * Keeps memory of the host as long as tensors of it are in use; a GPU's is freed at once.
     *
     * @return frees it
     */
    static Runnable track(EpDevice device, DeviceMemory memory, Runnable free) {
        if (device instanceof HostDevice host) {
            TrackedMemory tracked = host.track(memory, free);
            return tracked::close;
        }
        return free;
    }

    /** Adds the buffer's first memory. */
    void first(Runnable free) {
        memories.push(free);
    }

    @Override
    public SymmetricMemory make(Bootstrap members, List<Integer> ranks, long epoch, Duration longest) {
        SymmetricBuffer buffer =
                backend.exposeAmong(members, ranks, name + "-epoch-" + epoch, bytes, Optional.empty(), longest);
        try {
            MappedPeers peers = mapped(backend, buffer);
            Map<Integer, DeviceMemory> mapped = new TreeMap<>();
            for (int r : ranks) {
                if (r != rank) {
                    mapped.put(r, peers.peer(r));
                }
            }
            DeviceMemory local = buffer.local();
            backends.retain();
            memories.push(track(device, local, () -> {
                buffer.close();
                backends.release();
            }));
            return new SymmetricMemory(rank, local, mapped, Map.of(), Map.of());
        } catch (RuntimeException e) {
            buffer.close();
            throw e;
        }
    }

    @Override
    public void dropNewest() {
        memories.pop().run();
    }

    @Override
    public void freeOlder() {
        while (memories.size() > 1) {
            memories.removeLast().run();
        }
    }

    /** Gives back all of it. */
    void close() {
        while (!memories.isEmpty()) {
            memories.pop().run();
        }
        control.free().run();
    }
}
