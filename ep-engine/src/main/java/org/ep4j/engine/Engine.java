package org.ep4j.engine;

import org.ep4j.Bootstrap;
import org.ep4j.BufferSize;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpPlan;
import org.ep4j.EpShape;
import org.ep4j.engine.bootstrap.EngineBootstraps;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.host.HostBuffers;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Relays;
import org.ep4j.plan.GroupPlan;

/** The service behind the static methods of {@link EpGroup} and {@link Bootstrap}. */
public final class Engine extends EngineBootstraps {
    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        return new GroupJoiner(bootstrap, config).join();
    }

    @Override
    public BufferSize bufferSize(EpShape shape, EpPlan plan, int rank) {
        GroupPlan own = GroupPlan.of(plan);
        return size(shape, own, rank, Relays.of(own));
    }

    /**
     * Size of a buffer on a rank of a plan.
     *
     * @throws org.ep4j.EpUnavailableException if the engine cannot use the plan, on all ranks alike
     */
    static BufferSize size(EpShape shape, GroupPlan plan, int rank, Relays relays) {
        UsablePaths.check(plan);
        if (!plan.profiles().get(rank).device().isGpu()) {
            return HostBuffers.size(shape, plan.ranks(), rank, relays);
        }
        BufferSize mapped = HostBuffers.size(shape, plan.ranks(), rank, Relays.none());
        long window =
                GpuWindow.layout(shape, plan, relays).map(WindowLayout::bytes).orElse(0L);
        return BufferSize.of(mapped.symmetricBytes() + window, mapped.parts(), shape.preallocated());
    }

    @Override
    public BufferSize bufferSize(EpShape shape, int ranks, int rank) {
        return HostBuffers.size(shape, ranks, rank, Relays.none());
    }
}
