package org.ep4j.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpArgumentException;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
class SideBySideTest {
    private static final TckSubject HOST = TckSubject.of("host-shm", "host");

    /** Ends when its partner has begun, which cannot be where rules run one after another. */
    static final class Partners implements Scenario {
        @Override
        public void run(RankContext context) {
            Path folder = Path.of(context.params().text("folder", ""));
            if (context.isRank(0)) {
                assertThat(folder.resolve(context.params().text("me", ""))
                                .toFile()
                                .mkdir())
                        .isTrue();
                Path other = folder.resolve(context.params().text("other", ""));
                Guard.until(other.getFileName() + " runs beside this rule", () -> Files.exists(other));
            }
            context.meet();
        }
    }

    private static Rule partner(Path folder, String me, String other) {
        return Rule.of("9." + me, "test", Partners.class, "folder=" + folder + " me=" + me + " other=" + other);
    }

    private static Rule rule(String id, Class<? extends Scenario> scenario) {
        return Rule.of(id, "test", scenario, "");
    }

    private static List<RuleResult> run(List<Rule> rules, RankMode mode, int jobs, List<RuleResult> told) {
        try (RuleRunner runner = new RuleRunner(HOST);
                SideBySide runners = new SideBySide(runner, jobs)) {
            return runners.run(rules, mode, 2, told::add);
        }
    }

    @Test
    void rulesRunAtOnceEachWithProcessesOfItsOwn(@TempDir Path folder) {
        List<RuleResult> told = new ArrayList<>();
        List<RuleResult> results = run(
                List.of(
                        partner(folder, "1", "3"),
                        partner(folder, "2", "1"),
                        partner(folder, "3", "2"),
                        rule("9.4", RuleRunnerTest.Nothing.class)),
                RankMode.PROCESSES,
                3,
                told);
        assertThat(results)
                .allSatisfy(r -> assertThat(r.outcome()).as(r.reason()).isEqualTo(Outcome.PASS));
        assertThat(results).extracting(RuleResult::id).containsExactly("9.1", "9.2", "9.3", "9.4");
        assertThat(told).containsExactlyInAnyOrderElementsOf(results);
    }

    @Test
    void aRuleThatFailsLeavesThoseBesideItAlone() {
        List<Rule> rules = List.of(
                rule("9.1", RuleRunnerTest.Failing.class),
                rule("9.2", RuleRunnerTest.Nothing.class),
                rule("9.3", RuleRunnerTest.Dying.class).killing(Set.of(1)),
                rule("9.4", RuleRunnerTest.Nothing.class),
                rule("9.5", RuleRunnerTest.Failing.class),
                rule("9.6", RuleRunnerTest.Nothing.class));
        assertThat(run(rules, RankMode.PROCESSES, 2, new ArrayList<>()))
                .extracting(RuleResult::outcome)
                .containsExactly(Outcome.FAIL, Outcome.PASS, Outcome.PASS, Outcome.PASS, Outcome.FAIL, Outcome.PASS);
    }

    @Test
    void runnersCompareBitsWithEachOther() {
        try (RuleRunner first = new RuleRunner(HOST);
                RuleRunner second = first.beside()) {
            assertThat(first.run(rule("9.1", RuleRunnerTest.Changing.class), RankMode.THREADS, 2)
                            .outcome())
                    .isEqualTo(Outcome.PASS);
            assertThat(second.run(rule("9.1", RuleRunnerTest.Changing.class), RankMode.PROCESSES, 2)
                            .reason())
                    .contains("bits differ between THREADS");
        }
    }

    @Tag("all")
    @Test
    void theReportOfSeveralJobsIsThatOfOne() {
        ConformanceRequest request = new ConformanceRequest(
                "host-shm",
                "host",
                2,
                Set.of(RankMode.values()),
                Map.of(),
                Set.of(Capability.values()),
                Optional.of("3\\.[1-5]"));
        List<RuleResult> told = new ArrayList<>();
        ConformanceReport one = Conformance.run(request, 1, told::add);
        ConformanceReport three = Conformance.run(request, 3, told::add);
        assertThat(three.counts()).isEqualTo(one.counts()).containsEntry(Outcome.PASS, 10);
        assertThat(three.results())
                .extracting(r -> r.mode() + r.id())
                .isEqualTo(one.results().stream().map(r -> r.mode() + r.id()).toList());
        assertThat(told).hasSize(20);
        assertThat(three.environment()).containsEntry("jobs", "3");
    }

    @Test
    void fewerJobsThanOneAreRefused() {
        assertThatThrownBy(() -> Conformance.run(ConformanceRequest.of("host-shm", "host", 2), 0, result -> {}))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("jobs is 0, must be >= 1");
    }
}
