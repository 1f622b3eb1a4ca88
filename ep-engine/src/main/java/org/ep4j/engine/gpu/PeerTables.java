package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.ep4j.BufferSize;
import org.ep4j.EpShape;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Rails;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.spi.EpRuntime;

/**
 * What a rank computes of its peers when it creates a buffer, without devices: for benchmarks of that.
 *
 * @param size of the buffer
 * @param paths to and from its peers
 * @param passing ranks that pass rows on, to and from its peers
 * @param places among those that post to each peer, by threads of the host and by kernels, and among those that put rows in its memory
 * @param farNic whether it exchanges over a NIC that is far
 */
public record PeerTables(
        BufferSize size, List<PairPath> paths, List<Integer> passing, List<Integer> places, boolean farNic) {
    /** Copies the lists. */
    public PeerTables {
        paths = List.copyOf(paths);
        passing = List.copyOf(passing);
        places = List.copyOf(places);
    }

    /** Computes them as a rank does for a buffer of this shape. */
    public static PeerTables of(EpShape shape, EpPlan plan, int rank) {
        BufferSize size = EpRuntime.installed().bufferSize(shape, plan, rank);
        Rails rails = Rails.of(plan);
        PostedPaths posted = PostedPaths.of(plan);
        boolean far = posted.any() && FarNics.first(plan, rank).isPresent();
        List<Integer> places = new ArrayList<>();
        for (int[] some : List.of(
                posted.placesAmongSources(rank, PathKind.HOST_POSTED),
                posted.placesAmongSources(rank, PathKind.DEVICE_POSTED),
                posted.placesAmongGivers(rank))) {
            Arrays.stream(some).forEach(places::add);
        }
        List<PairPath> paths = new ArrayList<>();
        List<Integer> passing = new ArrayList<>();
        for (int peer = 0; peer < plan.ranks(); peer++) {
            PairPath there = plan.path(rank, peer);
            PairPath back = plan.path(peer, rank);
            paths.add(there);
            paths.add(back);
            if (there.offer().kind() != PathKind.LOCAL) {
                passing.add(rails.via(rank, peer, Mask.NONE));
                passing.add(rails.via(peer, rank, Mask.NONE));
            }
        }
        return new PeerTables(size, paths, passing, places, far);
    }
}
