package org.ep4j.engine.gpu;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;

/**
 * Pinned memory of the host by which a GPU exchanges with peers that host threads post to: NICs and the GPU reach it on any
 * machine.
 *
 * @param layout where everything lies
 * @param pinned the memory
 */
public record GpuWindow(WindowLayout layout, PinnedMemory pinned) implements AutoCloseable {
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

    /** Allocates it. */
    public static GpuWindow allocate(GpuDevice device, WindowLayout layout) {
        return new GpuWindow(layout, device.allocatePinned(layout.bytes()));
    }

    /** As backends register it. */
    public DeviceMemory memory() {
        return new DeviceMemory(pinned.hostAddress(), layout.bytes(), Device.HOST);
    }

    HostMemory words() {
        return pinned.memory();
    }

    /** As peers of the buffer use it. */
    public SymmetricMemory.Window asWindow() {
        return new SymmetricMemory.Window(memory(), layout.staging(), layout.stagingBytes());
    }

    @Override
    public void close() {
        pinned.close();
    }
}
