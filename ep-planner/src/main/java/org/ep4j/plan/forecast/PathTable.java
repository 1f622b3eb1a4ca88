package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PeerGroups;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.spi.Offer;

/**
 * The {@link Traits} of all pairs of a plan, numbered. Pairs of one kind whose ranks have the same NICs have equal traits, so
 * that thousands of ranks cost no more questions to the plan than the kinds of pairs there are.
 */
final class PathTable {
    private final GroupPlan plan;
    private final int[] nics;
    private final long nicCount;
    private final Map<Long, Integer> known = new HashMap<>();
    private final List<Traits> traits = new ArrayList<>();
    private final Map<Traits, Integer> numbers = new HashMap<>();

    PathTable(GroupPlan plan) {
        this.plan = plan;
        this.nics = PeerGroups.labels(plan.ranks(), plan::nics);
        this.nicCount = Arrays.stream(nics).max().orElse(-1) + 1L;
    }

    /** Properties of a path that forecasts depend on; {@code gpuPath} where memory is mapped without a detour. */
    record Traits(String backend, Offer offer, List<String> ports, int lanes, Optional<GpuPath> gpuPath) {
        static Traits of(GroupPlan plan, int from, int to) {
            EpPath path = plan.path(from, to);
            boolean mapped = path.kind() == EpPath.Kind.MAPPED && !path.staged();
            Optional<GpuPath> gpuPath = mapped
                    ? GpuPath.between(plan.profiles().get(from), plan.profiles().get(to))
                    : Optional.empty();
            return new Traits(path.backend(), plan.offer(from, to), path.nics(), path.lanes(), gpuPath);
        }

        boolean mapped() {
            return offer.kind() == EpPath.Kind.MAPPED;
        }

        /** True for links that the two GPUs have for themselves. */
        boolean ownLink() {
            return gpuPath.filter(path -> !path.shared()).isPresent();
        }

        boolean posted() {
            return offer.kind() == EpPath.Kind.HOST_POSTED || offer.kind() == EpPath.Kind.DEVICE_POSTED;
        }
    }

    /** By rank, a number for its NICs: traits differ between peers of one kind with different NICs. */
    int[] nics() {
        return nics;
    }

    /** Number of the traits of a pair of different ranks. */
    int index(int from, int to) {
        long pair = (plan.kind(from, to) * nicCount + nics[from]) * nicCount + nics[to];
        return known.computeIfAbsent(
                pair,
                k -> numbers.computeIfAbsent(Traits.of(plan, from, to), found -> {
                    traits.add(found);
                    return traits.size() - 1;
                }));
    }

    Traits traits(int from, int to) {
        return traits.get(index(from, to));
    }

    Traits traits(int index) {
        return traits.get(index);
    }
}
