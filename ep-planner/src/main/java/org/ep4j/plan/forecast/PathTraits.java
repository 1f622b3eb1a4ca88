package org.ep4j.plan.forecast;

import java.util.List;
import java.util.Optional;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.spi.Offer;

/**
 * Properties of a path that forecasts and sizes depend on.
 *
 * @param backend who moves the bytes
 * @param offer what it promised
 * @param ports ports of the writing rank that it uses
 * @param lanes channels
 * @param gpuPath the links between the GPUs, where memory is mapped without a detour
 */
record PathTraits(String backend, Offer offer, List<String> ports, int lanes, Optional<GpuPath> gpuPath) {
    static PathTraits of(GroupPlan plan, int from, int to) {
        EpPath path = plan.path(from, to);
        boolean mapped = path.kind() == EpPath.Kind.MAPPED && !path.staged();
        Optional<GpuPath> gpuPath = mapped
                ? GpuPaths.between(plan.profiles().get(from), plan.profiles().get(to))
                : Optional.empty();
        return new PathTraits(path.backend(), plan.offer(from, to), path.nics(), path.lanes(), gpuPath);
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
