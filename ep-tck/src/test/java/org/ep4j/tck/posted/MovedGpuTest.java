package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.threads.ThreadsBackendProvider;
import org.ep4j.tck.crew.GroupFactory;
import org.ep4j.tck.crew.Job;
import org.ep4j.tck.crew.RankReport;
import org.ep4j.tck.crew.ThreadCrew;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Buffers of emulated GPUs that map each other's memory, which move into fresh memory. */
@Tag("verify")
final class MovedGpuTest extends OnEmulatedGpus {
    private static final int RANKS = 3;

    /** Operations that end at a deadline are asynchronous: the call itself gives up before kernels of an emulated GPU do. */
    @ParameterizedTest
    @CsvSource({"MovedByMaskScenario, true", "LeftOutScenario, false"})
    void othersContinueWithoutARankThatIsMasked(String scenario, boolean async) {
        Job job = new Job(
                scenario,
                "org.ep4j.tck.rules." + scenario,
                async ? Map.of("async", "true") : Map.of(),
                RANKS,
                Map.of(
                        EpKeys.DEVICE.name(),
                        "cuda",
                        EpKeys.REQUIRE.name(),
                        ThreadsBackendProvider.ID,
                        ThreadsBackendProvider.MOVES.name(),
                        "true"),
                GroupFactory.Plain.class.getName(),
                Guard.minutes(4));
        try (ThreadCrew crew = new ThreadCrew(RANKS)) {
            assertThat(crew.run(job))
                    .allSatisfy(report ->
                            assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
        }
    }
}
