package org.ep4j.engine.gpu;

import java.util.BitSet;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Relays;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.SymmetricBuffer;

/**
 * Memory through which a GPU exchanges rows with peers whose symmetric memory it does not map. A backend whose kernels post allocates it; else
 * it is GPU memory if NICs reach it, else pinned host memory, see {@link WindowPlacement}.
 *
 * @param layout of everything but the counters
 * @param exposed the memory, as backends register it
 * @param address of the memory for kernels
 * @param words counters of HOST_POSTED peers in host memory, which host threads write and kernels poll; empty without such peers
 * @param posted by which kernels write to DEVICE_POSTED peers, and which has their counters; empty without such peers
 * @param flush makes this GPU see what has arrived, before its counters are published
 * @param free frees the memory
 */
public record GpuWindow(
        WindowLayout layout,
        ExposedMemory exposed,
        long address,
        Optional<PinnedMemory> words,
        Optional<DevicePosted> posted,
        Runnable flush,
        Runnable free)
        implements AutoCloseable {
    /**
     * Returns the layout that a plan needs, the same on all ranks; empty if all GPUs map each other's memory.
     *
     * @param relays of the plan
     */
    public static Optional<WindowLayout> layout(EpShape shape, GroupPlan plan, Relays relays) {
        int channels = IntStream.range(0, plan.ranks())
                .map(rank -> plan.ranks() - 1 - plan.mappedPeers(rank).size())
                .max()
                .orElse(0);
        return channels == 0
                ? Optional.empty()
                : Optional.of(WindowLayout.of(shape, plan.ranks(), channels, relays.isUsed()));
    }

    /** Ranks that {@code rank} has channels to and from, ascending. */
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
     * Creates a window in the buffer of a backend, which the caller closes; kernels post from it.
     *
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
                Optional.of(posted),
                () -> {},
                () -> {});
    }

    /** Returns whether any ranks of the group are connected by a kind of path: the same on all ranks. */
    public static boolean isInGroup(GroupPlan plan, EpPath.Kind kind) {
        return plan.examples().stream().anyMatch(path -> path.kind() == kind);
    }

    /** Creates a window in pinned host memory. */
    static GpuWindow onHost(EngineGpu device, WindowLayout layout) {
        PinnedMemory words = device.allocatePinned(layout.counterBytes());
        try {
            PinnedMemory pinned = device.allocatePinned(layout.bytes());
            DeviceMemory memory = DeviceMemory.of(pinned.hostAddress(), layout.bytes(), Device.HOST);
            return new GpuWindow(
                    layout,
                    ExposedMemory.of(memory),
                    pinned.deviceAddress(),
                    Optional.of(words),
                    Optional.empty(),
                    () -> {},
                    pinned::close);
        } catch (RuntimeException | Error e) {
            words.close();
            throw e;
        }
    }

    /**
     * Returns the address at which kernels store what goes into the window of {@code peer}, which is DEVICE_POSTED: of that window if this
     * GPU maps it, else of this one, from which it is posted.
     */
    long addressFor(int peer) {
        return address + posted.orElseThrow().mappedOffset(peer).orElse(0);
    }

    /** Address for kernels of the counters that peers with a path of kind {@code comes} to this rank advance. */
    long countersAddress(EpPath.Kind comes) {
        return comes == EpPath.Kind.HOST_POSTED
                ? words.orElseThrow().deviceAddress()
                : posted.orElseThrow().counters().address();
    }

    /** Returns the window for host threads. */
    public SymmetricMemory.Window asWindow() {
        Map<EpPath.Kind, DeviceMemory> counters = new EnumMap<>(EpPath.Kind.class);
        words.ifPresent(pinned -> counters.put(
                EpPath.Kind.HOST_POSTED, DeviceMemory.of(pinned.hostAddress(), layout.counterBytes(), Device.HOST)));
        posted.ifPresent(kernels -> counters.put(EpPath.Kind.DEVICE_POSTED, kernels.counters()));
        return new SymmetricMemory.Window(exposed.memory(), counters, layout.staging(), layout.stagingBytes());
    }

    /** Frees all memory; nothing may be registered any more. */
    @Override
    public void close() {
        try {
            free.run();
        } finally {
            words.ifPresent(PinnedMemory::close);
        }
    }
}
