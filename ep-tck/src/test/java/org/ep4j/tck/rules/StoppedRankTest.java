package org.ep4j.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.tck.ranks.Job;
import org.ep4j.tck.ranks.ProcessRankPool;
import org.ep4j.tck.ranks.RankPool;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.tck.ranks.ThreadRankPool;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Ranks that the others leave out while their processes are only stopped, over shared memory. */
@Tag("verify")
@EnabledOnOs(OS.LINUX)
final class StoppedRankTest {
    /** Long enough that ranks on a busy machine are not silent for it. */
    private static final Map<String, String> HEARTBEATS =
            Map.of("EP_BOOTSTRAP_HEARTBEAT", "200ms", "EP_BOOTSTRAP_HEARTBEAT_TIMEOUT", "4s");

    private static List<RankReport> run(int ranks) {
        try (RankPool pool = new ProcessRankPool(ranks, "256m", HEARTBEATS)) {
            return pool.run(job(StoppedRankScenario.class, ranks));
        }
    }

    private static Job job(Class<? extends Scenario> scenario, int ranks) {
        return new Job(
                scenario.getSimpleName() + ranks,
                scenario.getName(),
                Map.of(),
                ranks,
                Map.of(EpKeys.DEVICE.name(), "host", EpKeys.BACKEND_REQUIRE.name(), "host-shm"),
                GroupFactory.Plain.class.getName(),
                Guard.minutes(3));
    }

    @Test
    void othersContinueWithRightRowsAndTheStoppedRankReturnsNoWrongOne() {
        assertThat(run(3))
                .hasSize(3)
                .allSatisfy(
                        report -> assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
    }

    @Test
    void maskingARankThatMayStillWriteMovesTheBuffer() {
        try (RankPool pool = new ThreadRankPool(3)) {
            assertThat(pool.run(job(MovedByMaskScenario.class, 3)))
                    .allSatisfy(report ->
                            assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
        }
    }

    @Tag("all")
    @Test
    void ofTwoRanksNeitherContinuesUntilTheOtherIsDead() {
        List<RankReport> reports = run(2);
        assertThat(reports.get(0).end()).as(reports.get(0).detail()).isEqualTo(RankReport.End.DONE);
        assertThat(reports.get(1).end()).as(reports.get(1).detail()).isEqualTo(RankReport.End.KILLED);
    }
}
