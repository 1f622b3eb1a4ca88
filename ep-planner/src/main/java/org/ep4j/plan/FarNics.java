package org.ep4j.plan;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
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
        if (far.isEmpty()) {
            return Optional.empty();
        }
        Set<Integer> mapped = new HashSet<>(plan.mappedPeers(rank));
        Set<Integer> kinds = new HashSet<>();
        Set<List<String>> offered = new HashSet<>();
        return IntStream.range(0, plan.ranks())
                .filter(peer -> peer != rank && !mapped.contains(peer))
                // Paths of one kind of pairs have the same offer.
                .filter(peer -> kinds.add(plan.kind(rank, peer)))
                .mapToObj(peer -> plan.offer(rank, peer).nics())
                .filter(offered::add)
                .flatMap(List::stream)
                .flatMap(port -> Optional.ofNullable(far.get(port.split(":", 2)[0])).stream())
                .findFirst();
    }
}
