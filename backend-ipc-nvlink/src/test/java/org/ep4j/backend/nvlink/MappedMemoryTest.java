package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
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
import org.junit.jupiter.params.provider.ValueSource;

/** Memory between ranks as threads and as processes, on real GPUs where there are any, and on emulated ones. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class MappedMemoryTest {
    /** Skips, and says why; fails where GPUs, or emulated ones, are required. */
    @BeforeAll
    static void skipWithoutGpus() {
        List<String> reasons = Subjects.unavailable(TckSubject.of(IpcNvlinkProvider.ID, "cuda"));
        if (reasons.isEmpty()) {
            return;
        }
        boolean emulated = System.getenv("EP_TEST_EMULATED") != null;
        boolean required = emulated
                ? "1".equals(System.getenv("EP_REQUIRE_EMULATOR"))
                : System.getenv().getOrDefault(Subjects.REQUIRE, "").contains(IpcNvlinkProvider.ID);
        String reason = String.join("; ", reasons);
        assertThat(required).as(reason).isFalse();
        System.getLogger(MappedMemoryTest.class.getName()).log(System.Logger.Level.INFO, "skipped: " + reason);
        abort(reason);
    }

    private static List<RankReport> run(RankCrew crew, String what, int ranks, String device) {
        return crew.run(new Job(
                what + "-" + ranks + "-" + device,
                ExposeScenario.class.getName(),
                Map.of("case", what),
                ranks,
                Map.of(EpKeys.DEVICE.name(), device),
                GroupFactory.Plain.class.getName(),
                Duration.ofMinutes(2)));
    }

    private static RankCrew crew(RankMode mode, int ranks) {
        return mode == RankMode.THREADS ? new ThreadCrew(ranks) : new ProcessCrew(ranks, "256m");
    }

    private static void all(RankCrew crew, String what, int ranks, String device) {
        assertThat(run(crew, what, ranks, device))
                .allSatisfy(
                        report -> assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    void everyNumberOfRanksReachesAllMemory(RankMode mode) {
        try (RankCrew crew = crew(mode, 8)) {
            for (int ranks : new int[] {2, 3, 5, 8}) {
                all(crew, "data", ranks, "cuda");
            }
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    void ranksShareAGpu(RankMode mode) {
        try (RankCrew crew = crew(mode, 3)) {
            all(crew, "data", 3, "cuda:0");
            all(crew, "close", 3, "cuda:0");
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    void ranksCloseInAnyOrderAndBuffersComeAndGo(RankMode mode) {
        try (RankCrew crew = crew(mode, 3)) {
            all(crew, "close", 3, "cuda");
            all(crew, "many", 3, "cuda");
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    void theOrderOfWritesOverPciIsTriedForEveryPair(RankMode mode) {
        try (RankCrew crew = crew(mode, 3)) {
            all(crew, "pci", 3, "cuda");
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    void whatIsWrongOnOneRankIsRefusedOnAll(RankMode mode) {
        try (RankCrew crew = crew(mode, 3)) {
            all(crew, "refusals", 3, "cuda");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuda", "cuda:0"})
    void theMemoryOfARankThatDiedStaysMapped(String device) {
        for (RankMode mode : RankMode.values()) {
            try (RankCrew crew = crew(mode, 3)) {
                List<RankReport> reports = run(crew, "death", 3, device);
                assertThat(reports.stream().map(RankReport::end))
                        .as(Stream.of(reports).map(Object::toString).toList().toString())
                        .containsExactly(RankReport.End.DONE, RankReport.End.DONE, RankReport.End.KILLED);
            }
        }
    }
}
