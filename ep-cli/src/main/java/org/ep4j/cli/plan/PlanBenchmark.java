package org.ep4j.cli.plan;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.cli.plan.Published.Hardware;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.gpu.PeerTables;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.RankProfile;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.Topology;

/**
 * Measures how long planning takes for a cluster of described hosts of 8 GPUs and 8 NICs: the whole of {@code ep plan}, planning as
 * every rank of a group does it, and what one rank computes from the plan when it creates a buffer.
 */
public final class PlanBenchmark {
    private static final int PER_HOST = 8;
    private static final int MOST = 65536;
    private static final int HIDDEN = 7168;
    private static final int EXPERTS = 256;
    private static final int TOP_K = 8;
    private static final int LOW_LATENCY_TOKENS = 128;

    private PlanBenchmark() {}

    /**
     * What was measured; seconds are those of the median round.
     *
     * @param ranks ranks of the group
     * @param rounds how often each was done, after one round that does not count
     * @param command seconds of {@code ep plan --json} after the machine was read
     * @param plan seconds from the gathered bytes of the profiles to the plan
     * @param tables seconds in which one rank computes layouts, windows, rails, paths to all peers and the tables of its proxies
     * @param retained bytes of heap that the plan keeps, its profiles among them
     * @param encoded bytes of the encoded plan
     */
    public record Result(
            int ranks, int rounds, double command, double plan, double tables, long retained, int encoded) {
        /** For people. */
        public String text() {
            return String.format(
                    Locale.ROOT,
                    "%d ranks (%d hosts of up to %d GPUs and NICs), median of %d:%n"
                            + "  %8.3f s  ./ep plan --json, with sizes and forecasts%n"
                            + "  %8.3f s  planning in a group, from the profiles of its ranks%n"
                            + "  %8.3f s  tables of one rank, when it creates a buffer%n"
                            + "  the plan keeps %.1f MiB, encoded %.2f MiB",
                    ranks,
                    (ranks + PER_HOST - 1) / PER_HOST,
                    PER_HOST,
                    rounds,
                    command,
                    plan,
                    tables,
                    retained / 1048576.0,
                    encoded / 1048576.0);
        }
    }

    /**
     * Measures several times.
     *
     * @param ranks 2 to 8, or a multiple of 8 up to 65,536
     * @param rounds rounds that count, at least 1
     */
    public static Result run(int ranks, int rounds) {
        if (ranks < 2 || ranks > MOST || (ranks > PER_HOST && ranks % PER_HOST != 0)) {
            throw new EpArgumentException(
                    "--benchmark",
                    ranks,
                    "2 to " + PER_HOST + ", or a multiple of " + PER_HOST + " up to " + MOST,
                    "name such a number of ranks");
        }
        double command = median(rounds, () -> command(ranks));
        List<byte[]> gathered =
                simulated(ranks).stream().map(RankProfile::encode).toList();
        double planning = median(rounds, () -> plan(gathered));
        long empty = usedHeap();
        EpPlan plan = plan(gathered);
        long retained = usedHeap() - empty;
        double tables = median(rounds, () -> tables(plan, ranks - 1));
        return new Result(ranks, rounds, command, planning, tables, Math.max(0, retained), plan.encode().length);
    }

    private static double median(int rounds, Runnable work) {
        work.run();
        double[] seconds = new double[rounds];
        for (int i = 0; i < rounds; i++) {
            long start = System.nanoTime();
            work.run();
            seconds[i] = (System.nanoTime() - start) / 1e9;
        }
        Arrays.sort(seconds);
        return seconds[rounds / 2];
    }

    /** All of {@code ep plan --json} but the file. */
    static String command(int ranks) {
        PlanRequest request = new PlanRequest(
                simulation(ranks),
                PlanOptions.AUTO,
                EpConfig.builder(Map.of(), Map.of()).build(),
                List.of(),
                HIDDEN,
                EXPERTS,
                TOP_K,
                4096,
                LOW_LATENCY_TOKENS,
                false,
                1,
                1);
        return PlanStudy.of(machine(), request).json();
    }

    private static List<RankProfile> simulated(int ranks) {
        return SimulatedRanks.of(machine(), PlannedBackend.all(), simulation(ranks))
                .profiles();
    }

    private static SimulationOptions simulation(int ranks) {
        return new SimulationOptions(
                Math.max(1, ranks / PER_HOST), Math.min(ranks, PER_HOST), 0, SimulationOptions.GpuLinks.FILE, "");
    }

    private static Topology machine() {
        return MachineSketch.of(new Hardware(
                "hosts of 8 GPUs and 8 NICs", GpuVendor.AMD, "gfx942", PER_HOST, 48, NicFamily.MLX5, 1, 400, 0));
    }

    /** The plan of so many ranks. */
    static EpPlan plan(int ranks) {
        return plan(simulated(ranks).stream().map(RankProfile::encode).toList());
    }

    private static EpPlan plan(List<byte[]> gathered) {
        return Planner.plan(
                gathered.stream().map(RankProfile::decode).toList(),
                PlannedBackend.all().stream().map(PlannedBackend::candidate).toList(),
                PlanOptions.AUTO);
    }

    /** What a rank asks of the plan when it creates a buffer. */
    static PeerTables tables(EpPlan plan, int rank) {
        EpShape shape = EpShape.builder(HIDDEN, Math.max(EXPERTS, plan.ranks()), TOP_K)
                .maxTokens(LOW_LATENCY_TOKENS)
                .maxLowLatencyTokens(LOW_LATENCY_TOKENS)
                .build();
        return PeerTables.of(shape, plan, rank);
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
}
