package org.ep4j.engine.gpu;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;
import org.ep4j.topology.NicReach;

/** Which NICs are slower with the memory of a GPU than with the host's. */
public final class FarNics {
    private FarNics() {}

    /**
     * One over which threads of the host post for a rank, and that is too far from its GPU for GPUDirect RDMA; the first where there are
     * several.
     */
    public static Optional<NicReach> first(EpPlan plan, int rank) {
        List<NicReach> near = plan.profiles().get(rank).locality().nics();
        return IntStream.range(0, plan.ranks())
                .filter(peer -> peer != rank)
                .mapToObj(peer -> plan.offer(rank, peer))
                .filter(offer -> offer.kind() == PathKind.HOST_POSTED)
                .flatMap(offer -> offer.nics().stream())
                .distinct()
                .flatMap(port -> near.stream().filter(nic -> nic.name().equals(port.split(":", 2)[0])))
                .filter(nic -> !nic.distance().type().gpuDirect())
                .findFirst();
    }
}
