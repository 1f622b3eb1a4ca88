package org.ep4j.plan.forecast;

import com.google.common.collect.Maps;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.BufferSize;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PeerGroups;
import org.ep4j.topology.GpuVendor;

/**
 * Resources that a plan needs on its ranks and hosts; each value is the largest of any rank or host.
 *
 * @param buffer memory of a rank, as the engine computes it
 * @param lanesPerRank lanes over NICs, by backend: the sum over its peers of {@link EpPath#lanes}. A connected transport
 *     has one queue pair for each
 * @param lanesPerHost the same over all ranks of a host
 * @param endpointsPerRank endpoints where a host thread posts and queue pairs are not connected, as on EFA: one for each peer
 *     and NIC: both ends have as many as the one with more NICs
 * @param proxiesPerRank host threads that post for a rank: {@link GroupPlan#proxies}, or one where the device is the host; none where
 *     no path is {@link EpPath.Kind#HOST_POSTED}
 * @param proxiesPerHost the same over all ranks of a host
 * @param multiprocessors multiprocessors of the GPU that move bytes at full rate; see {@link #multiprocessors(GpuVendor,
 *     double)}
 */
public record Sizing(
        BufferSize buffer,
        Map<String, Long> lanesPerRank,
        Map<String, Long> lanesPerHost,
        long endpointsPerRank,
        int proxiesPerRank,
        int proxiesPerHost,
        int multiprocessors) {
    /** Measured on H200: 16 of them reach 309 GB/s over NVLink, 94 % of what 64 reach. */
    private static final double GIGABYTES_PER_MULTIPROCESSOR = 19.3;

    private static final int LEAST_MULTIPROCESSORS = 4;

    /** MoRI's default number of blocks (ROCm/mori {@code dispatch_combine.py}). */
    private static final int COMPUTE_UNITS = 80;

    public Sizing {
        lanesPerRank = Collections.unmodifiableMap(new TreeMap<>(lanesPerRank));
        lanesPerHost = Collections.unmodifiableMap(new TreeMap<>(lanesPerHost));
    }

    /**
     * Computes the resources that a plan needs.
     *
     * @param buffer from {@link org.ep4j.EpGroup#bufferSize} or {@link org.ep4j.EpEngine#bufferSize}
     */
    public static Sizing of(GroupPlan plan, BufferSize buffer) {
        PathTable paths = new PathTable(plan);
        PeerGroups peers = plan.peerGroups(paths.nics());
        Map<String, Long> rankMost = new TreeMap<>();
        Map<String, Map<Integer, Long>> hostSums = new TreeMap<>();
        Map<Integer, Integer> hostProxies = new TreeMap<>();
        int proxies = 0;
        long endpoints = 0;
        int multiprocessors = 0;
        for (int rank = 0; rank < plan.ranks(); rank++) {
            Map<String, Long> lanes = new TreeMap<>();
            boolean hostPosted = plan.pathKinds(rank).contains(EpPath.Kind.HOST_POSTED);
            int from = rank;
            double[] fastest = {0};
            long[] ends = {0};
            peers.forEach(rank, (to, count) -> {
                PathTable.Traits path = paths.traits(from, to);
                fastest[0] = Math.max(fastest[0], path.offer().gigabytesPerSecond());
                if (path.posted()) {
                    lanes.merge(path.backend(), count * path.lanes(), Long::sum);
                }
                ends[0] += count * endpoints(plan, path, paths.traits(to, from), from, to);
            });
            int host = plan.host(rank);
            lanes.forEach((backend, number) -> {
                rankMost.merge(backend, number, Math::max);
                hostSums.computeIfAbsent(backend, k -> new TreeMap<>()).merge(host, number, Long::sum);
            });
            boolean onHost = !plan.profiles().get(rank).device().isGpu();
            int threads = hostPosted && onHost ? 1 : plan.proxies(rank);
            proxies = Math.max(proxies, threads);
            endpoints = Math.max(endpoints, ends[0]);
            hostProxies.merge(host, threads, Integer::sum);
            multiprocessors = Math.max(
                    multiprocessors,
                    onHost
                            ? 0
                            : multiprocessors(
                                    plan.profiles().get(rank).locality().vendor(), fastest[0]));
        }
        return new Sizing(
                buffer,
                rankMost,
                Maps.transformValues(hostSums, sums -> Collections.max(sums.values())),
                endpoints,
                proxies,
                hostProxies.values().stream().mapToInt(Integer::intValue).max().orElse(0),
                multiprocessors);
    }

    /** Endpoints of a pair, on each of its ends. */
    private static long endpoints(GroupPlan plan, PathTable.Traits path, PathTable.Traits back, int from, int to) {
        if (path.offer().kind() != EpPath.Kind.HOST_POSTED && back.offer().kind() != EpPath.Kind.HOST_POSTED) {
            return 0;
        }
        return Math.max(1, Math.max(nics(plan, path, from), nics(plan, back, to)));
    }

    /** NICs by which a rank takes part in a pair: the ones of its own path, where that is posted. */
    private static long nics(GroupPlan plan, PathTable.Traits own, int rank) {
        List<String> ports = own.offer().kind() == EpPath.Kind.HOST_POSTED ? own.ports() : plan.nics(rank);
        return ports.stream()
                .map(port -> port.replaceFirst(":[0-9]+$", ""))
                .distinct()
                .count();
    }

    /**
     * Number of multiprocessors with which a GPU moves {@code gigabytesPerSecond}; for NVIDIA, one for each 19.3 GB/s,
     * rounded up to an even number, at least 4. An AMD GPU takes 80 compute units, MoRI's default; no public figure
     * says how few would do.
     */
    public static int multiprocessors(GpuVendor vendor, double gigabytesPerSecond) {
        if (vendor == GpuVendor.AMD) {
            return COMPUTE_UNITS;
        }
        int pairs = (int) Math.ceil(gigabytesPerSecond / GIGABYTES_PER_MULTIPROCESSOR / 2);
        return Math.max(LEAST_MULTIPROCESSORS, 2 * pairs);
    }
}
