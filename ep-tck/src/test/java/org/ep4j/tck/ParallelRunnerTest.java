package org.ep4j.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpArgumentException;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
class ParallelRunnerTest {
    private static final TckSubject HOST = TckSubject.of("host-shm", "host");

    /** Ends when its partner has begun, which is impossible where rules run one after another. */
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
            context.barrier();
        }
    }

    private static Rule partner(Path folder, String me, String other) {
        return rule("9." + me, Partners.class, "folder=" + folder + " me=" + me + " other=" + other);
    }

    private static Rule rule(String id, Class<? extends Scenario> scenario) {
        return rule(id, scenario, "");
    }

    private static Rule rule(String id, Class<? extends Scenario> scenario, String params) {
        return Rule.parse(id + " | | " + scenario.getName() + " " + params + " | test");
    }

    private static List<RuleResult> run(List<Rule> rules, RankMode mode, int jobs, List<RuleResult> reported) {
        try (RuleRunner runner = new RuleRunner(HOST);
                ParallelRunner runners = new ParallelRunner(runner, jobs)) {
            return runners.run(rules, mode, 2, reported::add);
        }
    }

    @Test
    void rulesRunAtOnceEachWithProcessesOfItsOwn(@TempDir Path folder) {
        List<RuleResult> reported = new ArrayList<>();
        List<RuleResult> results = run(
                List.of(
                        partner(folder, "1", "3"),
                        partner(folder, "2", "1"),
                        partner(folder, "3", "2"),
                        rule("9.4", RuleRunnerTest.Nothing.class)),
                RankMode.PROCESSES,
                3,
                reported);
        assertThat(results)
                .allSatisfy(r -> assertThat(r.outcome()).as(r.reason()).isEqualTo(Outcome.PASS));
        assertThat(results).extracting(RuleResult::id).containsExactly("9.1", "9.2", "9.3", "9.4");
        assertThat(reported).containsExactlyInAnyOrderElementsOf(results);
    }

    @Test
    void aRuleThatFailsDoesNotDisturbTheOthers() {
        List<Rule> rules = List.of(
                rule("9.1", RuleRunnerTest.Failing.class),
                rule("9.2", RuleRunnerTest.Nothing.class),
                rule("9.3", RuleRunnerTest.Dying.class, "victims=1"),
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
                RuleRunner second = first.sibling()) {
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
    void severalJobsGiveTheReportOfOneJob() {
        ConformanceRequest request =
                new ConformanceRequest(HOST, 2, Set.of(RankMode.values()), Optional.of("3\\.[1-5]"));
        List<RuleResult> reported = new ArrayList<>();
        ConformanceReport one = Conformance.run(request, 1, reported::add);
        ConformanceReport three = Conformance.run(request, 3, reported::add);
        assertThat(three.counts()).isEqualTo(one.counts()).containsEntry(Outcome.PASS, 10);
        assertThat(three.results())
                .extracting(r -> r.mode() + r.id())
                .isEqualTo(one.results().stream().map(r -> r.mode() + r.id()).toList());
        assertThat(reported).hasSize(20);
        assertThat(three.environment()).containsEntry("jobs", "3");
    }

    @Test
    void fewerJobsThanOneAreRefused() {
        ConformanceRequest request = new ConformanceRequest(HOST, 2, Set.of(RankMode.THREADS), Optional.empty());
        assertThatThrownBy(() -> Conformance.run(request, 0, result -> {}))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("jobs is 0, must be >= 1");
    }
}
