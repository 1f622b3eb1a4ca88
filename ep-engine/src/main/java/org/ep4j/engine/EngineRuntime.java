package org.ep4j.engine;

import org.ep4j.BufferSize;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.host.HostBuffers;
import org.ep4j.engine.sync.Rails;
import org.ep4j.plan.EpPlan;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.EpRuntime;

/** Joins groups. */
public final class EngineRuntime implements EpRuntime {
    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        return new Joining(bootstrap, config).join();
    }

    @Override
    public BufferSize bufferSize(EpShape shape, EpPlan plan, int rank) {
        return HostBuffers.size(shape, plan.ranks(), rank, Rails.of(plan));
    }

    @Override
    public BufferSize bufferSize(EpShape shape, int ranks, int rank) {
        return HostBuffers.size(shape, ranks, rank, Rails.none());
    }
}
