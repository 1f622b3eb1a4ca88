package org.ep4j.tck.mapped;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.time.Duration;
import java.util.List;
import java.util.Map;
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
import org.ep4j.tck.oracle.Patience;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Memory that a backend allocates and maps between ranks of one host, as threads and as processes, which have a GPU each and
 * which share one. For JUnit: extend it, and say which backend and which type of device.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class MappedMemoryTck {
    private static final System.Logger LOG = System.getLogger("org.ep4j.tck");
    private static final String HEAP = "256m";

    /** A rank on a busy machine must not be silent for so long. */
    private static final Map<String, String> HEARTBEATS =
            Map.of("EP_BOOTSTRAP_HEARTBEAT", "200ms", "EP_BOOTSTRAP_HEARTBEAT_TIMEOUT", "4s");

    private static final String STOPPED_RANK = "org.ep4j.tck.rules.StoppedRankScenario";

    private final String backend;
    private final String type;

    /**
     * For subclasses.
     *
     * @param backend id of the backend
     * @param type of its devices: {@code cuda}
     */
    protected MappedMemoryTck(String backend, String type) {
        this.backend = backend;
        this.type = type;
    }

    /** Whether a machine without the devices fails the tests instead of skipping them. */
    protected boolean required() {
        return Subjects.required(TckSubject.of(backend, type), System.getenv());
    }

    /** Skips, and says why; fails where the devices are required. */
    @BeforeAll
    void skipWithoutDevices() {
        List<String> reasons = Subjects.unavailable(TckSubject.of(backend, type));
        if (!reasons.isEmpty()) {
            String reason = String.join("; ", reasons);
            assertThat(required()).as(reason).isFalse();
            LOG.log(System.Logger.Level.INFO, "skipped memory of " + backend + ": " + reason);
            abort(reason);
        }
    }

    /** Ranks for jobs of up to as many. */
    protected static RankCrew crew(RankMode mode, int ranks) {
        return mode == RankMode.THREADS ? new ThreadCrew(ranks) : new ProcessCrew(ranks, HEAP);
    }

    /**
     * Runs a scenario of the subclass's own on all ranks.
     *
     * @param device a type alone, or one that all ranks share
     */
    protected static List<RankReport> run(
            RankCrew crew, Class<?> scenario, Map<String, String> parameters, int ranks, String device) {
        return run(crew, scenario.getName(), parameters, ranks, device);
    }

    private static List<RankReport> run(
            RankCrew crew, String scenario, Map<String, String> parameters, int ranks, String device) {
        return crew.run(new Job(
                scenario + parameters + "-" + ranks + "-" + device,
                scenario,
                parameters,
                ranks,
                Map.of(EpKeys.DEVICE.name(), device),
                GroupFactory.Plain.class.getName(),
                Patience.here(Duration.ofMinutes(2))));
    }

    /** All ranks came to the end. */
    protected static void allDone(List<RankReport> reports) {
        assertThat(reports)
                .allSatisfy(
                        report -> assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
    }

    private List<RankReport> run(RankCrew crew, String what, int ranks, String device) {
        return run(
                crew,
                MappedMemoryScenario.class,
                Map.of(MappedMemoryScenario.BACKEND, backend, MappedMemoryScenario.CASE, what),
                ranks,
                device);
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    final void everyNumberOfRanksReachesAllMemory(RankMode mode) {
        try (RankCrew crew = crew(mode, 8)) {
            for (int ranks : new int[] {2, 3, 5, 8}) {
                allDone(run(crew, "data", ranks, type));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    final void ranksShareADevice(RankMode mode) {
        try (RankCrew crew = crew(mode, 3)) {
            allDone(run(crew, "data", 3, type + ":0"));
            allDone(run(crew, "close", 3, type + ":0"));
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    final void ranksCloseInAnyOrderAndBuffersComeAndGo(RankMode mode) {
        try (RankCrew crew = crew(mode, 3)) {
            allDone(run(crew, "close", 3, type));
            allDone(run(crew, "many", 3, type));
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    final void whatIsWrongOnOneRankIsRefusedOnAll(RankMode mode) {
        try (RankCrew crew = crew(mode, 3)) {
            allDone(run(crew, "refusals", 3, type));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":0"})
    final void theMemoryOfARankThatDiedStaysMapped(String number) {
        for (RankMode mode : RankMode.values()) {
            try (RankCrew crew = crew(mode, 3)) {
                List<RankReport> reports = run(crew, "death", 3, type + number);
                assertThat(reports)
                        .as(reports.toString())
                        .extracting(RankReport::end)
                        .containsExactly(RankReport.End.DONE, RankReport.End.DONE, RankReport.End.KILLED);
            }
        }
    }

    /** The stopped rank continues later, finds out that it was left out, and does no harm. */
    @Test
    final void ranksContinueWithRightRowsWithoutOneThatIsStopped() {
        try (RankCrew crew = new ProcessCrew(3, HEAP, HEARTBEATS)) {
            allDone(run(crew, STOPPED_RANK, Map.of("rounds", "6"), 3, type + ":0"));
        }
    }
}
