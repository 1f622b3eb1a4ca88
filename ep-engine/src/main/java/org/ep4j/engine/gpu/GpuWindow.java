package org.ep4j.engine.gpu;

import java.util.BitSet;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Rails;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PeerGroups;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.KnownPeers;

/**
 * Memory by which a GPU exchanges with peers that it does not map: the GPU's own, where NICs reach it, else pinned memory
 * of the host, which both reach on any machine. {@link WindowPlacement} decides.
 *
 * @param layout where everything lies, but the counters
 * @param exposed the memory, as backends register it
 * @param address where kernels see it
 * @param words counters, which threads of the host write and kernels poll; memory of the host, empty where kernels of the peers
 *     write them
 * @param counters the counters where kernels see them
 * @param posted by which kernels write the peers, where not the host does
 * @param flush makes this GPU see what has arrived, before the counters say so
 * @param free gives the memory back
 */
public record GpuWindow(
        WindowLayout layout,
        ExposedMemory exposed,
        long address,
        Optional<PinnedMemory> words,
        DeviceMemory counters,
        Optional<DevicePosted> posted,
        Runnable flush,
        Runnable free)
        implements AutoCloseable {
    /**
     * The layout that a plan needs, the same on all ranks; empty where all GPUs map each other's memory.
     *
     * @param rails of the plan
     */
    public static Optional<WindowLayout> layout(EpShape shape, GroupPlan plan, Rails rails) {
        PeerGroups peers = plan.peerGroups(new int[plan.ranks()]);
        long most = 0;
        for (int r = 0; r < plan.ranks(); r++) {
            int rank = r;
            long[] remotes = {0};
            peers.forEach(rank, (peer, count) -> {
                if (plan.pathKind(rank, peer) != EpPath.Kind.MAPPED) {
                    remotes[0] += count;
                }
            });
            most = Math.max(most, remotes[0]);
        }
        int channels = (int) most;
        return channels == 0
                ? Optional.empty()
                : Optional.of(WindowLayout.of(shape, plan.ranks(), channels, rails.passes()));
    }

    /** Ranks that {@code rank} posts to, ascending. */
    public static List<Integer> remotes(GroupPlan plan, int rank) {
        BitSet mapped = new BitSet();
        plan.mappedPeers(rank).forEach(mapped::set);
        mapped.set(rank);
        return IntStream.range(0, plan.ranks())
                .filter(peer -> !mapped.get(peer))
                .boxed()
                .toList();
    }

    /** Index of {@code rank} among the {@link #remotes} of {@code peer}, of which it is one. */
    public static int place(GroupPlan plan, int peer, int rank) {
        int mappedBefore = -1 - Collections.binarySearch(plan.mappedPeers(peer), rank);
        return rank - mappedBefore - (peer < rank ? 1 : 0);
    }

    /**
     * A window that threads of the host post from.
     *
     * @param words for the counters; closed with the window
     */
    static GpuWindow hostPosted(
            WindowLayout layout,
            ExposedMemory exposed,
            long address,
            PinnedMemory words,
            Runnable flush,
            Runnable free) {
        DeviceMemory counters = DeviceMemory.of(words.deviceAddress(), layout.counterBytes(), Device.HOST);
        return new GpuWindow(layout, exposed, address, Optional.of(words), counters, Optional.empty(), flush, free);
    }

    /**
     * A window that a backend has allocated, whose kernels post.
     *
     * @param buffer which the caller closes
     * @throws EpUnavailableException when the backend's buffers are not {@link DevicePosted}, a defect of it
     */
    public static GpuWindow devicePosted(WindowLayout layout, SymmetricBuffer buffer) {
        DevicePosted posted = buffer.as(DevicePosted.class)
                .orElseThrow(() -> new EpUnavailableException("kernels cannot post from " + buffer
                        + ", because its backend has a defect; exclude that backend"));
        DeviceMemory memory = buffer.local();
        return new GpuWindow(
                layout,
                ExposedMemory.of(memory),
                memory.address(),
                Optional.empty(),
                posted.counters(),
                Optional.of(posted),
                () -> {},
                () -> {});
    }

    /** True when kernels of {@code rank} post to its remote peers; all of them are reached in one way. */
    public static boolean isDevicePosted(GroupPlan plan, int rank) {
        return plan.pathKinds(rank).contains(EpPath.Kind.DEVICE_POSTED);
    }

    /** In pinned memory of the host. */
    static GpuWindow onHost(EngineGpu device, WindowLayout layout) {
        PinnedMemory words = device.allocatePinned(layout.counterBytes());
        try {
            PinnedMemory pinned = device.allocatePinned(layout.bytes());
            DeviceMemory memory = DeviceMemory.of(pinned.hostAddress(), layout.bytes(), Device.HOST);
            return hostPosted(layout, ExposedMemory.of(memory), pinned.deviceAddress(), words, () -> {}, pinned::close);
        } catch (RuntimeException | Error e) {
            words.close();
            throw e;
        }
    }

    /**
     * The memory of a buffer whose ranks exchange by this window. Threads that post for kernels and the one that sets up and recovers
     * may then post to the same peers.
     */
    public SymmetricMemory in(SymmetricMemory symmetric, GroupPlan plan) {
        IdentityHashMap<HostPosted, SharedPosted> shared = new IdentityHashMap<>();
        KnownPeers known = new KnownPeers(plan, symmetric.rank());
        return new SymmetricMemory(
                symmetric.rank(),
                symmetric.local(),
                symmetric.mapped(),
                share(symmetric.postedTo(), shared, known),
                share(symmetric.postedFrom(), shared, known),
                Optional.of(asWindow()));
    }

    private static Map<Integer, HostPosted> share(
            Map<Integer, HostPosted> posted, IdentityHashMap<HostPosted, SharedPosted> shared, KnownPeers known) {
        Map<Integer, HostPosted> all = new TreeMap<>();
        int ranks = known.plan().ranks();
        posted.forEach((rank, one) ->
                all.put(rank, shared.computeIfAbsent(one, other -> new SharedPosted(other, ranks, known))));
        return all;
    }

    private SymmetricMemory.Window asWindow() {
        return new SymmetricMemory.Window(
                exposed.memory(),
                words.map(pinned -> DeviceMemory.of(pinned.hostAddress(), layout.counterBytes(), Device.HOST))
                        .orElse(counters),
                layout.staging(),
                layout.stagingBytes());
    }

    /** Gives all of it back; nothing may be registered any more. */
    @Override
    public void close() {
        try {
            free.run();
        } finally {
            words.ifPresent(PinnedMemory::close);
        }
    }
}
