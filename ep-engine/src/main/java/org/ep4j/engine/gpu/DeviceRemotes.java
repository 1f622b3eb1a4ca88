package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.util.Deque;
import java.util.List;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Rails;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.DevicePosted;
import org.ep4j.transport.memory.DeviceAllocation;

/**
 * The peers of a GPU whose kernels post to them by themselves. What kernels have put is waited for with what the host has, by
 * {@link DevicePosted#flush}. See {@code remote.cu}.
 */
final class DeviceRemotes implements Posting {
    /** Bytes of {@code struct Remote} with {@code EP_DEVICE_POSTED}. */
    private static final int BYTES = 56;

    private final DeviceAllocation table;

    /** @param owned gets what frees the table */
    DeviceRemotes(
            EngineGpu device,
            Copies copies,
            GroupPlan plan,
            int rank,
            GpuWindow window,
            DevicePosted posted,
            Rails rails,
            Deque<Runnable> owned) {
        this.table = device.allocatePrivate((long) plan.ranks() * BYTES);
        owned.push(table::close);
        copies.write(table.memory().address(), table(plan, rank, window, posted, rails));
    }

    private static ByteBuffer table(GroupPlan plan, int rank, GpuWindow window, DevicePosted posted, Rails rails) {
        WindowLayout at = window.layout();
        List<Integer> remotes = GpuWindow.remotes(plan, rank);
        ByteBuffer words = Copies.buffer(plan.ranks() * BYTES);
        for (int index = 0; index < remotes.size(); index++) {
            int r = remotes.get(index);
            long there = at.incoming(GpuWindow.place(plan, r, rank));
            words.position(r * BYTES);
            words.putLong(window.address() + at.outgoing(index))
                    .putLong(window.address() + at.incoming(index))
                    .putLong(window.address() + there)
                    .putLong(posted.peerNumber(r))
                    .putLong(rails.via(rank, r, Mask.NONE))
                    .putLong(rails.via(r, rank, Mask.NONE))
                    .putLong(posted.mappedOffset(r).orElse(0));
        }
        words.position(plan.ranks() * BYTES);
        return words;
    }

    @Override
    public long tableAddress() {
        return table.memory().address();
    }
}
