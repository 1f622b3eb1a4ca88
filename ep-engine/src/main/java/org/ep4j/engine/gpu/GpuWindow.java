package org.ep4j.engine.gpu;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;
import org.ep4j.spi.ExposedMemory;

/**
 * Memory by which a GPU exchanges with peers that host threads post to: the GPU's own, where NICs reach it, else pinned memory
 * of the host, which both reach on any machine. {@link WindowPlacement} decides.
 *
 * @param layout where everything lies, but the counters
 * @param exposed the memory, as backends register it
 * @param address where kernels see it
 * @param words counters, which threads of the host write and kernels poll: always memory of the host
 * @param flush makes this GPU see what has arrived, before the counters say so
 * @param free gives the memory back
 */
public record GpuWindow(
        WindowLayout layout, ExposedMemory exposed, long address, PinnedMemory words, Runnable flush, Runnable free)
        implements AutoCloseable {
    /**
     * The layout that a plan needs, the same on all ranks; empty where all GPUs map each other's memory.
     *
     * @throws EpUnavailableException when one of two ranks posts and the other one maps
     */
    public static Optional<WindowLayout> layout(EpShape shape, EpPlan plan) {
        int most = 0;
        for (int r = 0; r < plan.ranks(); r++) {
            int rank = r;
            most = Math.max(most, remotes(plan, r).size());
            remotes(plan, r).stream()
                    .filter(peer -> !isPosted(plan, peer, rank))
                    .findFirst()
                    .ifPresent(peer -> refuse(plan, rank, peer));
        }
        return most == 0 ? Optional.empty() : Optional.of(new WindowLayout(shape, plan.ranks(), most));
    }

    private static void refuse(EpPlan plan, int rank, int peer) {
        throw new EpUnavailableException(plan.profiles().get(rank).label() + " posts to "
                + plan.profiles().get(peer).label() + ", which reaches it by "
                + plan.path(peer, rank).offer().kind() + " over "
                + plan.path(peer, rank).backend()
                + "; GPUs need paths of one kind both ways: exclude one of the two backends with ep.exclude");
    }

    /** Ranks that {@code rank} posts to, ascending. */
    static List<Integer> remotes(EpPlan plan, int rank) {
        return IntStream.range(0, plan.ranks())
                .filter(peer -> isPosted(plan, rank, peer))
                .boxed()
                .toList();
    }

    private static boolean isPosted(EpPlan plan, int from, int to) {
        return from != to && plan.path(from, to).offer().kind() == PathKind.HOST_POSTED;
    }

    /** In pinned memory of the host. */
    static GpuWindow onHost(GpuDevice device, WindowLayout layout) {
        PinnedMemory words = device.allocatePinned(layout.counterBytes());
        try {
            PinnedMemory pinned = device.allocatePinned(layout.bytes());
            DeviceMemory memory = new DeviceMemory(pinned.hostAddress(), layout.bytes(), Device.HOST);
            return new GpuWindow(
                    layout, ExposedMemory.of(memory), pinned.deviceAddress(), words, () -> {}, pinned::close);
        } catch (RuntimeException e) {
            words.close();
            throw e;
        }
    }

    /** As peers of the buffer use it. */
    SymmetricMemory.Window asWindow() {
        return new SymmetricMemory.Window(
                exposed.memory(),
                new DeviceMemory(words.hostAddress(), layout.counterBytes(), Device.HOST),
                layout.staging(),
                layout.stagingBytes());
    }

    /** Gives all of it back; nothing may be registered any more. */
    @Override
    public void close() {
        try {
            free.run();
        } finally {
            words.close();
        }
    }
}
