package org.ep4j.backend.rocm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Subjects;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.crew.GroupFactory;
import org.ep4j.tck.crew.Job;
import org.ep4j.tck.crew.ProcessCrew;
import org.ep4j.tck.crew.RankCrew;
import org.ep4j.tck.crew.RankReport;
import org.ep4j.tck.crew.ThreadCrew;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory between ranks as threads and as processes, on real GPUs where there are any, and on emulated ones. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class MappedMemoryTest {
    /** Skips, and says why; fails where GPUs, or emulated ones, are required. */
    @BeforeAll
    static void skipWithoutGpus() {
        List<String> reasons = Subjects.unavailable(TckSubject.of(RocmProvider.ID, "hip"));
        if (reasons.isEmpty()) {
            return;
        }
        boolean emulated = System.getenv("EP_TEST_EMULATED") != null;
        boolean required = emulated
                ? "1".equals(System.getenv("EP_REQUIRE_EMULATOR"))
                : System.getenv().getOrDefault(Subjects.REQUIRE, "").contains(RocmProvider.ID);
        String reason = String.join("; ", reasons);
        assertThat(required).as(reason).isFalse();
        System.getLogger(MappedMemoryTest.class.getName()).log(System.Logger.Level.INFO, "skipped: " + reason);
        abort(reason);
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    void everyRankReachesAllMemoryOfItsHiveAndOverPci(RankMode mode) {
        try (RankCrew crew = mode == RankMode.THREADS ? new ThreadCrew(3) : new ProcessCrew(3, "256m")) {
            for (String way : List.of("xgmi", "pci")) {
                for (String device : List.of("hip", "hip:0")) {
                    List<RankReport> reports = crew.run(new Job(
                            way + "-" + device,
                            ExposeScenario.class.getName(),
                            Map.of("way", way),
                            3,
                            Map.of(EpKeys.DEVICE.name(), device),
                            GroupFactory.Plain.class.getName(),
                            Duration.ofMinutes(2)));
                    assertThat(reports)
                            .allSatisfy(report ->
                                    assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
                }
            }
        }
    }
}
