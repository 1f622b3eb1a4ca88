package org.ep4j.engine.host;

import java.util.BitSet;
import java.util.stream.IntStream;
import org.ep4j.DispatchLayout;
import org.ep4j.EpArgumentException;
import org.ep4j.EpPlan;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Tensor;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.sync.Mask;

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
        int[] perHost =
                new int[IntStream.range(0, plan.ranks()).map(plan::host).max().orElse(0) + 1];
        int[] perExpert = new int[shape.experts()];
        boolean[][] onRank = new boolean[tokens][placement.ranks()];
        for (int i = 0; i < tokens * shape.topK(); i++) {
            if (routing.ids()[i] >= 0) {
                perExpert[routing.ids()[i]]++;
            }
        }
        for (int t = 0; t < tokens; t++) {
            BitSet hosts = new BitSet();
            for (int i = routing.firstTarget()[t]; i < routing.firstTarget()[t + 1]; i++) {
                onRank[t][routing.targets()[i]] = true;
                hosts.set(plan.host(routing.targets()[i]));
            }
            hosts.stream().forEach(h -> perHost[h]++);
        }
        return new DispatchLayout(routing.rowsTo().clone(), perHost, perExpert, onRank);
    }
}
