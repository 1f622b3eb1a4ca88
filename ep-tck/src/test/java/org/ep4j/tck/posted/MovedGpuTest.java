package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.threads.ThreadsBackendProvider;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.tck.ranks.Job;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.tck.ranks.ThreadRankPool;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Buffers of emulated GPUs that move to new memory: mapped memory, and memory that host threads post from. */
@Tag("verify")
final class MovedGpuTest extends OnEmulatedGpus {
    /** The paths between the GPUs. */
    enum Paths {
        MAPPED(3, ThreadsBackendProvider.ID, 0),
        POSTED(3, PostedThreadsProvider.ID, 0),
        /** Two simulated hosts of two ranks: mapped inside, posted between them. */
        HYBRID(4, ThreadsBackendProvider.ID + "," + PostedThreadsProvider.ID, 2);

        private final int ranks;
        private final String backends;
        private final int ranksOfHost;

        Paths(int ranks, String backends, int ranksOfHost) {
            this.ranks = ranks;
            this.backends = backends;
            this.ranksOfHost = ranksOfHost;
        }
    }

    /** Operations that time out are asynchronous: a call itself gives up before kernels of an emulated GPU do. */
    @ParameterizedTest
    @CsvSource({
        "MAPPED, MovedByMaskScenario, true",
        "POSTED, LeftOutScenario, false",
        "HYBRID, MovedByMaskScenario, true"
    })
    void othersContinueWithoutARankThatIsMasked(Paths paths, String scenario, boolean async) {
        assertThatOthersContinue(paths, scenario, async);
    }

    @Tag("all")
    @ParameterizedTest
    @CsvSource({"MAPPED, LeftOutScenario, false", "POSTED, MovedByMaskScenario, true"})
    void othersContinueOnTheOtherPathsWithoutARankThatIsMasked(Paths paths, String scenario, boolean async) {
        assertThatOthersContinue(paths, scenario, async);
    }

    private static void assertThatOthersContinue(Paths paths, String scenario, boolean async) {
        Map<String, String> settings = Map.of(
                EpKeys.DEVICE.name(),
                "cuda",
                EpKeys.BACKEND_REQUIRE.name(),
                paths.backends,
                EpKeys.HOST_RANKS.name(),
                Integer.toString(paths.ranksOfHost),
                EpKeys.BACKEND_PREFER.name(),
                ThreadsBackendProvider.ID);
        Job job = new Job(
                scenario,
                "org.ep4j.tck.rules." + scenario,
                async ? Map.of("async", "true") : Map.of(),
                paths.ranks,
                settings,
                GroupFactory.Plain.class.getName(),
                Guard.minutes(4));
        try (ThreadRankPool pool = new ThreadRankPool(paths.ranks)) {
            assertThat(pool.run(job))
                    .allSatisfy(report ->
                            assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
        }
    }
}
