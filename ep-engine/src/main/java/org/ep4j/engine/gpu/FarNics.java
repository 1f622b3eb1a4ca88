package org.ep4j.engine.gpu;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.plan.GroupPlan;
import org.ep4j.topology.NicReach;

/** Which NICs are slower with the memory of a GPU than with the host's. */
public final class FarNics {
    private FarNics() {}

    /**
     * One over which a rank exchanges by posting, and that is too far from its GPU for GPUDirect RDMA; the first where there are
     * several.
     */
    public static Optional<NicReach> first(GroupPlan plan, int rank) {
        Map<String, NicReach> far = new HashMap<>();
        plan.profiles().get(rank).locality().nics().stream()
                .filter(nic -> !nic.distance().type().gpuDirect())
                .forEach(nic -> far.putIfAbsent(nic.name(), nic));
        Set<Integer> kinds = new HashSet<>();
        Set<List<String>> offered = new HashSet<>();
        return far.isEmpty()
                ? Optional.empty()
                : GpuWindow.remotes(plan, rank).stream()
                        // Paths of one kind of pairs have the same offer.
                        .filter(peer -> kinds.add(plan.kind(rank, peer)))
                        .map(peer -> plan.offer(rank, peer).nics())
                        .filter(offered::add)
                        .flatMap(List::stream)
                        .flatMap(port -> Optional.ofNullable(far.get(port.split(":", 2)[0])).stream())
                        .findFirst();
    }
}
