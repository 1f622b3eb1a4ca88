package org.ep4j.engine.host;

import java.util.stream.IntStream;
import org.ep4j.DispatchLayout;
import org.ep4j.EpArgumentException;
import org.ep4j.EpPlan;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Tensor;
import org.ep4j.engine.sync.Mask;
import org.ep4j.transport.memory.HostMemory;

/** Counts where tokens would go. */
public final class RoutingLayout {
    private RoutingLayout() {}

    /**
     * From ids in host memory.
     *
     * @param topkIds {@code [tokens, K]}
     * @param plan which ranks are of one host
     * @throws EpArgumentException when an id is neither -1 nor an expert's
     */
    public static DispatchLayout of(
            Tensor topkIds, int tokens, EpShape shape, ExpertPlacement placement, Mask mask, EpPlan plan) {
        Routing routing = new Routing(shape.topK(), placement.ranks());
        new RoutingReader(shape, placement).read(topkIds, HostMemory.of(topkIds.memory()), tokens, mask, routing);
        int hosts = IntStream.range(0, plan.ranks()).map(plan::host).max().orElse(0) + 1;
        DispatchLayout.Builder layout = DispatchLayout.builder(tokens, placement.ranks(), hosts, shape.experts());
        for (int i = 0; i < tokens * shape.topK(); i++) {
            int expert = routing.ids()[i];
            if (expert >= 0) {
                int rank = placement.rankOf(expert);
                layout.select(i / shape.topK(), expert, rank, plan.host(rank));
            }
        }
        return layout.build();
    }
}
