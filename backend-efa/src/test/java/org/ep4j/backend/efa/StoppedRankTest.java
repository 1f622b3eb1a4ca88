package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.tck.ranks.Job;
import org.ep4j.tck.ranks.ProcessRankPool;
import org.ep4j.tck.ranks.RankPool;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A rank that is left out while its process is only stopped, over TCP. It takes nothing meanwhile. */
@Tag("verify")
final class StoppedRankTest {
    /** Long enough that ranks on a busy machine are not silent for it. */
    private static final Map<String, String> HEARTBEATS =
            Map.of("EP_BOOTSTRAP_HEARTBEAT", "200ms", "EP_BOOTSTRAP_HEARTBEAT_TIMEOUT", "4s");

    @Test
    void othersContinueWithRightRowsAndTheStoppedRankReturnsNoWrongOne() {
        FabricScenariosTest.assumeUsable("tcp");
        Job job = new Job(
                "stopped",
                "org.ep4j.tck.rules.StoppedRankScenario",
                Map.of("rounds", "6"),
                3,
                Map.of(
                        EpKeys.DEVICE.name(),
                        "host",
                        EpKeys.BACKEND_REQUIRE.name(),
                        EfaProvider.ID,
                        EfaKeys.PROVIDER.name(),
                        "tcp"),
                GroupFactory.Plain.class.getName(),
                Guard.minutes(3));
        try (RankPool pool = new ProcessRankPool(3, "256m", HEARTBEATS)) {
            List<RankReport> reports = pool.run(job);
            assertThat(reports)
                    .hasSize(3)
                    .allSatisfy(report ->
                            assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
        }
    }
}
