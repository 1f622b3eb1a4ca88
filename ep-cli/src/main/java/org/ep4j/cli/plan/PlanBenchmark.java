package org.ep4j.cli.plan;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.RankProfile;
import org.ep4j.plan.RankProfile.BackendProfile;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.PathOffer;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicPort.LinkLayer;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;

/** Measures how long planning takes: hosts of 8 GPUs and 8 NICs, one backend within them and two beyond. */
public final class PlanBenchmark {
    private static final int PER_HOST = 8;

    private PlanBenchmark() {}

    /**
     * What was measured.
     *
     * @param ranks ranks of the group
     * @param rounds how often it was planned, after one round that does not count
     * @param median seconds from the gathered bytes of the profiles to the plan
     * @param fastest seconds of the fastest round
     * @param planOnly seconds of the median round without reading the profiles
     * @param retained bytes of heap that the plan keeps, its profiles among them
     * @param allocated bytes that one round allocates
     * @param encoded bytes of the encoded plan
     */
    public record Result(
            int ranks,
            int rounds,
            double median,
            double fastest,
            double planOnly,
            long retained,
            long allocated,
            int encoded) {
        /** For people, one line. */
        public String text() {
            return String.format(
                    Locale.ROOT,
                    "%d ranks (%d hosts of %d GPUs and %d NICs): planned in %.3f s, %.3f s of it after the profiles were"
                            + " read (median of %d; fastest %.3f s); the plan keeps %.1f MiB, one planning allocates"
                            + " %.1f MiB, encoded %.2f MiB",
                    ranks,
                    (ranks + PER_HOST - 1) / PER_HOST,
                    PER_HOST,
                    PER_HOST,
                    median,
                    planOnly,
                    rounds,
                    fastest,
                    retained / 1048576.0,
                    allocated / 1048576.0,
                    encoded / 1048576.0);
        }
    }

    /**
     * Plans a group several times.
     *
     * @param ranks 2 to 65,536
     * @param rounds rounds that count, at least 1
     */
    public static Result run(int ranks, int rounds) {
        if (ranks < 2 || ranks > 65536) {
            throw new EpArgumentException("--benchmark", ranks, "2 to 65536", "name a number of ranks in between");
        }
        List<byte[]> gathered = new ArrayList<>(ranks);
        for (int rank = 0; rank < ranks; rank++) {
            gathered.add(profile(rank).encode());
        }
        round(gathered);
        double[] all = new double[rounds];
        double[] planning = new double[rounds];
        long allocated = Long.MAX_VALUE;
        for (int i = 0; i < rounds; i++) {
            long before = allocatedBytes();
            Timed timed = round(gathered);
            allocated = Math.min(allocated, allocatedBytes() - before);
            all[i] = timed.all;
            planning[i] = timed.planning;
        }
        Arrays.sort(all);
        Arrays.sort(planning);
        long empty = usedHeap();
        EpPlan plan = round(gathered).plan;
        long retained = usedHeap() - empty;
        return new Result(
                ranks,
                rounds,
                all[rounds / 2],
                all[0],
                planning[rounds / 2],
                Math.max(0, retained),
                allocated,
                plan.encode().length);
    }

    private record Timed(EpPlan plan, double all, double planning) {}

    private static Timed round(List<byte[]> gathered) {
        long start = System.nanoTime();
        List<RankProfile> profiles = gathered.stream().map(RankProfile::decode).toList();
        long read = System.nanoTime();
        EpPlan plan = Planner.plan(profiles, candidates(), PlanOptions.AUTO);
        long end = System.nanoTime();
        return new Timed(plan, (end - start) / 1e9, (end - read) / 1e9);
    }

    private static long allocatedBytes() {
        return ManagementFactory.getThreadMXBean() instanceof com.sun.management.ThreadMXBean threads
                ? threads.getThreadAllocatedBytes(Thread.currentThread().getId())
                : 0;
    }

    /** Bytes in use after a full collection. */
    private static long usedHeap() {
        long used = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            used = Math.min(
                    used,
                    ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
        }
        return used;
    }

    private static List<Planner.Candidate> candidates() {
        return List.of(
                new Planner.Candidate(
                        "within",
                        (from, to) -> equal("within", "boot", from, to)
                                ? new PathOffer(PathKind.MAPPED, 370, 1.5, List.of())
                                : new NoPath("the ranks run on different machines", "take a network backend")),
                new Planner.Candidate("beyond", (from, to) -> beyond(from, 45, 6)),
                new Planner.Candidate("slower", (from, to) -> beyond(from, 20, 12)));
    }

    private static PathOffer beyond(RankProfile from, double gigabytes, double micros) {
        return new PathOffer(
                PathKind.HOST_POSTED,
                gigabytes,
                micros,
                from.locality().nics().stream().map(nic -> nic.name() + ":1").toList());
    }

    private static boolean equal(String backend, String fact, RankProfile a, RankProfile b) {
        return a.identity(backend)
                .getOrDefault(fact, "")
                .equals(b.identity(backend).getOrDefault(fact, ""));
    }

    private static RankProfile profile(int rank) {
        String host = "host-" + rank / PER_HOST;
        Map<String, BackendProfile> backends = new TreeMap<>();
        backends.put("within", new BackendProfile(true, "", Map.of("p2p", "nvlink"), Map.of("boot", host)));
        backends.put("beyond", new BackendProfile(true, "", Map.of("atomics", "yes"), Map.of("subnet", "fe80")));
        backends.put("slower", new BackendProfile(true, "", Map.of()));
        int gpu = rank % PER_HOST;
        return new RankProfile(
                rank, host, host, 1000 + gpu, new Device("cuda", gpu), locality(gpu), "", backends, Map.of());
    }

    private static Locality locality(int gpu) {
        List<GpuPeer> peers = new ArrayList<>();
        List<NicReach> nics = new ArrayList<>();
        for (int i = 0; i < PER_HOST; i++) {
            if (i != gpu) {
                peers.add(new GpuPeer(i, new Distance(PathType.NVL, 370, 2), LinkType.NVLINK));
            }
            // Nearest first, as a locality lists them.
            int nic = (gpu + i) % PER_HOST;
            PathType type = i == 0 ? PathType.PIX : nic / 4 == gpu / 4 ? PathType.NODE : PathType.SYS;
            nics.add(new NicReach(
                    "mlx5_" + nic,
                    NicFamily.MLX5,
                    "card-" + nic,
                    new Distance(type, i == 0 ? 48 : 16, 4),
                    Optional.of(true),
                    List.of(new NicReach.Port(1, LinkLayer.INFINIBAND, 400))));
        }
        return new Locality(gpu, GpuVendor.NVIDIA, "sm_90", gpu / 4, PER_HOST, peers, nics);
    }
}
