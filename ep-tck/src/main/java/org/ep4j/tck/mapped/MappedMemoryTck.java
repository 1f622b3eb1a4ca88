package org.ep4j.tck.mapped;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.tck.ranks.Job;
import org.ep4j.tck.ranks.ProcessRankPool;
import org.ep4j.tck.ranks.RankPool;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.tck.ranks.ThreadRankPool;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of memory that a backend allocates and maps between ranks of one host, as threads and as processes, with a GPU each or a
 * common one. For JUnit: a subclass names the backend and the type of device.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class MappedMemoryTck {
    private static final System.Logger LOG = System.getLogger("org.ep4j.tck");
    private static final String HEAP = "256m";

    /** Heartbeats with a timeout that no rank on a busy machine reaches. */
    private static final Map<String, String> HEARTBEATS =
            Map.of("EP_BOOTSTRAP_HEARTBEAT", "200ms", "EP_BOOTSTRAP_HEARTBEAT_TIMEOUT", "4s");

    private static final String STOPPED_RANK = "org.ep4j.tck.rules.StoppedRankScenario";

    private final String backend;
    private final String type;

    /**
     * Creates the tests of a backend.
     *
     * @param backend id of the backend
     * @param type of its devices: {@code cuda}
     */
    protected MappedMemoryTck(String backend, String type) {
        this.backend = backend;
        this.type = type;
    }

    /** Returns whether a machine without the devices fails the tests instead of skipping them. */
    protected boolean required() {
        return TckSubject.of(backend, type).required(System.getenv());
    }

    /** Skips the tests without devices, and logs the reason; fails where the devices are required. */
    @BeforeAll
    void skipWithoutDevices() {
        List<String> reasons = TckSubject.of(backend, type).unavailable();
        if (!reasons.isEmpty()) {
            String reason = String.join("; ", reasons);
            assertThat(required()).as(reason).isFalse();
            LOG.log(System.Logger.Level.INFO, "skipped memory of " + backend + ": " + reason);
            abort(reason);
        }
    }

    /** Creates ranks for jobs of up to as many. */
    protected static RankPool pool(RankMode mode, int ranks) {
        return mode == RankMode.THREADS ? new ThreadRankPool(ranks) : new ProcessRankPool(ranks, HEAP, Map.of());
    }

    /**
     * Runs a scenario of the subclass on all ranks.
     *
     * @param device a type, or one device that all ranks share
     */
    protected static List<RankReport> run(
            RankPool pool, Class<?> scenario, Map<String, String> parameters, int ranks, String device) {
        return run(pool, scenario.getName(), parameters, ranks, device);
    }

    private static List<RankReport> run(
            RankPool pool, String scenario, Map<String, String> parameters, int ranks, String device) {
        return pool.run(new Job(
                scenario + parameters + "-" + ranks + "-" + device,
                scenario,
                parameters,
                ranks,
                Map.of(EpKeys.DEVICE.name(), device),
                GroupFactory.Plain.class.getName(),
                Patience.scaled(Duration.ofMinutes(2))));
    }

    /** Checks that no rank failed. */
    protected static void allDone(List<RankReport> reports) {
        assertThat(reports)
                .allSatisfy(
                        report -> assertThat(report.end()).as(report.detail()).isEqualTo(RankReport.End.DONE));
    }

    private List<RankReport> run(RankPool pool, String what, int ranks, String device) {
        return run(
                pool,
                MappedMemoryScenario.class,
                Map.of(MappedMemoryScenario.BACKEND, backend, MappedMemoryScenario.CASE, what),
                ranks,
                device);
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    final void everyNumberOfRanksReachesAllMemory(RankMode mode) {
        try (RankPool pool = pool(mode, 8)) {
            for (int ranks : new int[] {2, 3, 5, 8}) {
                allDone(run(pool, "data", ranks, type));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    final void ranksShareADevice(RankMode mode) {
        try (RankPool pool = pool(mode, 3)) {
            allDone(run(pool, "data", 3, type + ":0"));
            allDone(run(pool, "close", 3, type + ":0"));
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    final void ranksCloseInAnyOrderAndBuffersComeAndGo(RankMode mode) {
        try (RankPool pool = pool(mode, 3)) {
            allDone(run(pool, "close", 3, type));
            allDone(run(pool, "many", 3, type));
        }
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    final void whatIsWrongOnOneRankIsRefusedOnAll(RankMode mode) {
        try (RankPool pool = pool(mode, 3)) {
            allDone(run(pool, "refusals", 3, type));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":0"})
    final void theMemoryOfARankThatDiedStaysMapped(String number) {
        for (RankMode mode : RankMode.values()) {
            try (RankPool pool = pool(mode, 3)) {
                List<RankReport> reports = run(pool, "death", 3, type + number);
                assertThat(reports)
                        .as(reports.toString())
                        .extracting(RankReport::end)
                        .containsExactly(RankReport.End.DONE, RankReport.End.DONE, RankReport.End.KILLED);
            }
        }
    }

    /** The stopped rank continues later, finds that it was left out, and does no harm. */
    @Test
    final void ranksContinueWithRightRowsWithoutOneThatIsStopped() {
        try (RankPool pool = new ProcessRankPool(3, HEAP, HEARTBEATS)) {
            allDone(run(pool, STOPPED_RANK, Map.of("rounds", "6"), 3, type + ":0"));
        }
    }
}
