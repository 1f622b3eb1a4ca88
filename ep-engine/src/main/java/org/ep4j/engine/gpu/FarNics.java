package org.ep4j.engine.gpu;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.plan.EpPlan;
import org.ep4j.topology.NicReach;

/** Which NICs are slower with the memory of a GPU than with the host's. */
public final class FarNics {
    private FarNics() {}

    /**
     * One over which a rank exchanges by posting, and that is too far from its GPU for GPUDirect RDMA; the first where there are
     * several.
     */
    public static Optional<NicReach> first(EpPlan plan, int rank) {
        List<NicReach> near = plan.profiles().get(rank).locality().nics();
        Set<Integer> kinds = new HashSet<>();
        return GpuWindow.remotes(plan, rank).stream()
                // Paths of one kind of pairs have the same offer.
                .filter(peer -> kinds.add(plan.kind(rank, peer)))
                .flatMap(peer -> plan.path(rank, peer).offer().nics().stream())
                .flatMap(port -> near.stream().filter(nic -> nic.name().equals(port.split(":", 2)[0])))
                .filter(nic -> !nic.distance().type().gpuDirect())
                .findFirst();
    }
}
