package org.ep4j.engine;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.sync.Relays;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.SymmetricBuffer;

/** The paths of a plan as one rank's engine uses them: it stores to mapped ranks, and posts to the others. */
final class UsablePaths {
    private static final Set<EpPath.Kind> POSTED = Set.of(EpPath.Kind.HOST_POSTED, EpPath.Kind.DEVICE_POSTED);

    private final GroupPlan plan;
    private final int rank;
    private final Relays relays;

    UsablePaths(GroupPlan plan, int rank) {
        this.plan = plan;
        this.rank = rank;
        this.relays = Relays.of(plan);
    }

    Relays relays() {
        return relays;
    }

    /**
     * Refuses, on all ranks alike, a plan with paths that the engine cannot use.
     *
     * @throws EpUnavailableException with path, backend and remedy
     */
    static void check(GroupPlan plan) {
        plan.examples().forEach(path -> check(plan, path.from(), path.to()));
        for (int rank : plan.exampleRanks()) {
            Set<String> mapped = plan.mappedBy(rank);
            if (mapped.size() > 1) {
                throw new EpUnavailableException("the memory of "
                        + plan.profiles().get(rank).label() + " and of its peers is mapped by several backends ("
                        + String.join(", ", mapped)
                        + "), but only one backend can allocate this memory; leave the other backends out with "
                        + EpKeys.BACKEND_EXCLUDE.name());
            }
        }
    }

    private static void check(GroupPlan plan, int from, int to) {
        EpPath.Kind kind = plan.pathKind(from, to);
        boolean fromHost = !isGpu(plan, from);
        if (kind == EpPath.Kind.DEVICE_POSTED && fromHost) {
            throw unusable(plan, from, to, "ranks on the host have no GPU that could post");
        }
        if (kind != EpPath.Kind.MAPPED && fromHost == isGpu(plan, to)) {
            throw unusable(
                    plan,
                    from,
                    to,
                    "one of the two ranks uses a GPU and the other the host, and only mapped memory connects them");
        }
        if (!fromHost && POSTED.contains(kind) && plan.pathKind(to, from) != kind) {
            throw new EpUnavailableException(plan.profiles().get(from).label() + " reaches "
                    + plan.profiles().get(to).label() + " by " + kind + " over " + plan.backend(from, to)
                    + ", but the path in the opposite direction is " + plan.pathKind(to, from) + " over "
                    + plan.backend(to, from)
                    + "; GPUs need the same kind of path in both directions: exclude one of the two backends with "
                    + EpKeys.BACKEND_EXCLUDE.name());
        }
    }

    private static boolean isGpu(GroupPlan plan, int of) {
        return plan.profiles().get(of).device().isGpu();
    }

    private static EpUnavailableException unusable(GroupPlan plan, int from, int to, String reason) {
        String backend = plan.backend(from, to);
        return new EpUnavailableException("the path from "
                + plan.profiles().get(from).label() + " to "
                + plan.profiles().get(to).label() + " is " + plan.pathKind(from, to) + " over " + backend
                + ", which the engine cannot use: " + reason + "; leave the backend out with "
                + EpKeys.BACKEND_EXCLUDE.name() + "=" + backend);
    }

    /**
     * Combines this rank's memory with its peers', mapped or posted to as in the plan.
     *
     * @param window by which a GPU exchanges rows with peers that are not mapped, if there are any
     * @param ranks whose memory is included
     */
    SymmetricMemory reach(
            DeviceMemory local,
            Map<String, SymmetricBuffer> byBackend,
            Optional<GpuWindow> window,
            Collection<Integer> ranks) {
        Optional<DevicePosted> kernels = window.flatMap(GpuWindow::posted);
        Map<Integer, DeviceMemory> mapped = new TreeMap<>();
        Map<Integer, HostPosted> postedTo = new TreeMap<>();
        Map<Integer, HostPosted> postedFrom = new TreeMap<>();
        for (int r : ranks) {
            if (r == rank) {
                continue;
            }
            check(plan, rank, r);
            if (isPosted(rank, r)) {
                postedTo.put(r, posted(rank, r, byBackend, kernels));
            } else {
                mapped.put(r, as(MappedPeers.class, rank, r, byBackend).peer(r));
            }
            if (isPosted(r, rank)) {
                postedFrom.put(r, posted(r, rank, byBackend, kernels));
            }
        }
        return new SymmetricMemory(rank, local, mapped, postedTo, postedFrom, window.map(GpuWindow::asWindow));
    }

    /** Ranks whose memory this one maps. */
    List<Integer> mapped() {
        return plan.mappedPeers(rank);
    }

    /** Returns what posts to the peers that this rank does not map, from buffers of backends that post from host threads. */
    Map<Integer, HostPosted> posted(Map<String, SymmetricBuffer> byBackend) {
        Map<Integer, HostPosted> all = new TreeMap<>();
        for (int r = 0; r < plan.ranks(); r++) {
            if (isPosted(rank, r)) {
                all.put(r, posted(rank, r, byBackend, Optional.empty()));
            }
        }
        return all;
    }

    private boolean isPosted(int from, int to) {
        return POSTED.contains(plan.pathKind(from, to));
    }

    private HostPosted posted(int from, int to, Map<String, SymmetricBuffer> byBackend, Optional<DevicePosted> window) {
        return plan.pathKind(from, to) == EpPath.Kind.DEVICE_POSTED
                ? window.orElseThrow(() -> unusable(
                        plan,
                        from,
                        to,
                        "the backend has a defect: it offers DEVICE_POSTED paths, but does not allocate memory with"
                                + " purpose DEVICE_POSTED (AllocatesMemory)"))
                : as(HostPosted.class, from, to, byBackend);
    }

    private <C> C as(Class<C> capability, int from, int to, Map<String, SymmetricBuffer> byBackend) {
        SymmetricBuffer buffer = byBackend.get(plan.backend(from, to));
        if (buffer == null) {
            throw unusable(
                    plan,
                    from,
                    to,
                    "the backend made no buffer for it: it is not open on this rank, or allocates memory for other paths");
        }
        return buffer.as(capability)
                .orElseThrow(() -> unusable(
                        plan, from, to, "the backend has a defect: its buffers lack " + capability.getSimpleName()));
    }
}
