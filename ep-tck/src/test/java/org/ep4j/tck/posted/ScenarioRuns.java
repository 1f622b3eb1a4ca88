package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.threads.ThreadsBackendProvider;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.tck.ranks.Job;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.tck.ranks.ThreadRankPool;
import org.ep4j.testing.Guard;

/** Runs scenarios of the kit over paths of one kind or of several. */
final class ScenarioRuns {
    private ScenarioRuns() {}

    /** The paths between ranks. */
    enum Paths {
        MAPPED("mapped", PostedThreadsProvider.ID, GroupFactory.Plain.class),
        POSTED("posted", PostedThreadsProvider.ID, GroupFactory.Plain.class),
        MIXED("mapped", PostedThreadsProvider.ID, SimulatedHosts.class),
        /** Two backends: one maps inside hosts, one posts between them. */
        HYBRID("nothing", "host-shm," + PostedThreadsProvider.ID, SimulatedHosts.class),
        /** Both again, on hosts and GPUs: posted paths are offered to all pairs, and settings choose. */
        BOTH("posted", ThreadsBackendProvider.ID + "," + PostedThreadsProvider.ID, GroupFactory.Plain.class);

        private final String inside;
        private final String backends;
        private final String factory;

        Paths(String inside, String backends, Class<? extends GroupFactory> factory) {
            this.inside = inside;
            this.backends = backends;
            this.factory = factory.getName();
        }
    }

    /** Runs a scenario of the package of the kit's rules, and returns the facts of each rank. */
    static List<Map<String, String>> run(Paths paths, int ranks, String scenario, String params, int seed) {
        return run(paths, paths.factory, ranks, scenario, params, seed);
    }

    static List<Map<String, String>> run(
            Paths paths, String factory, int ranks, String scenario, String params, int seed) {
        return run(paths, factory, ranks, scenario, params, seed, Map.of());
    }

    /** Runs a scenario with more settings. */
    static List<Map<String, String>> run(
            Paths paths,
            String factory,
            int ranks,
            String scenario,
            String params,
            int seed,
            Map<String, String> more) {
        String guard = Guard.minute().toSeconds() + "s";
        Map<String, String> settings = new TreeMap<>(Map.of(
                EpKeys.BACKEND_REQUIRE.name(),
                paths.backends,
                EpKeys.TIMEOUT.name(),
                guard,
                EpKeys.SETUP_TIMEOUT.name(),
                guard,
                EpKeys.DEVICE.name(),
                "host",
                PostedThreadsProvider.INSIDE.name(),
                paths.inside,
                PostedThreadsProvider.SEED.name(),
                Integer.toString(seed)));
        settings.putAll(more);
        Job job = new Job(
                scenario,
                "org.ep4j.tck.rules." + scenario,
                Params.parse(params).values(),
                ranks,
                settings,
                factory,
                Guard.minutes(4));
        try (ThreadRankPool pool = new ThreadRankPool(ranks)) {
            List<RankReport> reports = pool.run(job);
            assertThat(failures(reports)).as("failures over %s", paths).isEmpty();
            return reports.stream().map(RankReport::facts).toList();
        }
    }

    /** Returns failures, the earliest first, since others may be its consequences. */
    private static List<String> failures(List<RankReport> reports) {
        return reports.stream()
                .filter(report -> report.end() != RankReport.End.DONE)
                .sorted(Comparator.comparingLong(RankReport::nanos))
                .map(report -> "rank " + report.rank() + " " + report.end() + ": " + report.detail())
                .toList();
    }
}
