package org.ep4j.engine;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.sync.Rails;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.SymmetricBuffer;

/** The paths of a plan as one rank's engine uses them: it stores into mapped memory, and posts to the rest. */
final class UsablePaths {
    private final EpPlan plan;
    private final int rank;
    private final Rails rails;

    UsablePaths(EpPlan plan, int rank) {
        this.plan = plan;
        this.rank = rank;
        this.rails = Rails.of(plan);
    }

    /** Where ranks of the plan post to others. */
    Rails rails() {
        return rails;
    }

    /**
     * Refuses a plan with paths that the engine cannot use, on all ranks alike.
     *
     * @throws EpUnavailableException with path, backend and remedy
     */
    static void check(EpPlan plan) {
        plan.examples().forEach(path -> check(plan, path));
        for (RankProfile profile : plan.profiles()) {
            Set<String> mapped = plan.mappedBy(profile.rank());
            if (mapped.size() > 1) {
                throw new EpUnavailableException("the memory of " + profile.label() + " and its peers is mapped by "
                        + String.join(" and by ", mapped)
                        + ", and one of them alone can allocate it; leave the others out with "
                        + EpKeys.EXCLUDE.name());
            }
        }
    }

    private static void check(EpPlan plan, PairPath path) {
        PathKind kind = path.offer().kind();
        boolean fromHost = isHost(plan, path.from());
        if (kind == PathKind.DEVICE_POSTED && fromHost) {
            throw unusable(plan, path, "ranks on the host have no GPU that could post");
        }
        if (kind != PathKind.MAPPED && fromHost != isHost(plan, path.to())) {
            throw unusable(plan, path, "one of the two is a GPU and the other is not");
        }
    }

    private static boolean isHost(EpPlan plan, int of) {
        return plan.profiles().get(of).device().type().equals(Device.HOST.type());
    }

    private static EpUnavailableException unusable(EpPlan plan, PairPath path, String reason) {
        return new EpUnavailableException("the path from "
                + plan.profiles().get(path.from()).label() + " to "
                + plan.profiles().get(path.to()).label() + " is " + path.offer().kind() + " over " + path.backend()
                + ", which the engine cannot use: " + reason + "; leave the backend out with " + EpKeys.EXCLUDE.name()
                + "=" + path.backend());
    }

    /**
     * This rank's memory and its peers', reached as the plan says.
     *
     * @param window by which a GPU exchanges with peers that are not mapped, if there are any
     * @param ranks whose memory is reached
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
            PairPath there = plan.path(rank, r);
            check(plan, there);
            if (isPosted(there)) {
                postedTo.put(r, posted(there, byBackend, kernels));
            } else {
                mapped.put(r, as(MappedPeers.class, there, byBackend).peer(r));
            }
            PairPath back = plan.path(r, rank);
            if (isPosted(back)) {
                postedFrom.put(r, posted(back, byBackend, kernels));
            }
        }
        SymmetricMemory reached = new SymmetricMemory(rank, local, mapped, postedTo, postedFrom);
        return window.map(w -> w.in(reached, plan.ranks())).orElse(reached);
    }

    /** Ranks that this one reaches through memory that it maps. */
    List<Integer> mapped() {
        return IntStream.range(0, plan.ranks())
                .filter(r -> r != rank && !isPosted(plan.path(rank, r)))
                .boxed()
                .toList();
    }

    /**
     * How this rank posts to the peers that it does not map.
     *
     * @param byBackend what the backends have exposed that post from host threads
     */
    Map<Integer, HostPosted> posted(Map<String, SymmetricBuffer> byBackend) {
        Map<Integer, HostPosted> all = new TreeMap<>();
        for (int r = 0; r < plan.ranks(); r++) {
            if (r != rank && isPosted(plan.path(rank, r))) {
                all.put(r, posted(plan.path(rank, r), byBackend, Optional.empty()));
            }
        }
        return all;
    }

    private static boolean isPosted(PairPath path) {
        PathKind kind = path.offer().kind();
        return kind == PathKind.HOST_POSTED || kind == PathKind.DEVICE_POSTED;
    }

    private HostPosted posted(PairPath path, Map<String, SymmetricBuffer> byBackend, Optional<DevicePosted> window) {
        return path.offer().kind() == PathKind.DEVICE_POSTED
                ? window.orElseThrow(() -> unusable(plan, path, "its backend allocates no window, a defect of it"))
                : as(HostPosted.class, path, byBackend);
    }

    private <C> C as(Class<C> capability, PairPath path, Map<String, SymmetricBuffer> byBackend) {
        SymmetricBuffer buffer = byBackend.get(path.backend());
        if (buffer == null) {
            throw unusable(plan, path, "the backend is not open on this rank");
        }
        return buffer.as(capability)
                .orElseThrow(() ->
                        unusable(plan, path, "its buffers lack " + capability.getSimpleName() + ", a defect of it"));
    }
}
