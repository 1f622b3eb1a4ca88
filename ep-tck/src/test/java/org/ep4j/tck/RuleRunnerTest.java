package org.ep4j.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.crew.GroupFactory;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class RuleRunnerTest {
    private static final TckSubject HOST = TckSubject.of("host-shm", "host");

    /** Does nothing. */
    static final class Nothing implements Scenario {
        @Override
        public void run(RankContext context) {
            context.meet();
        }
    }

    /** Reports bits that differ between runs. */
    static final class Changing implements Scenario {
        @Override
        public void run(RankContext context) {
            context.fact("bits", Long.toString(System.nanoTime()));
        }
    }

    /** Rank 1 fails while the others wait for it. */
    static final class Failing implements Scenario {
        @Override
        public void run(RankContext context) {
            if (context.isRank(1)) {
                throw new AssertionError("rank one is wrong");
            }
            context.meet();
        }
    }

    /** Rank 1 dies; the others must not. */
    static final class Dying implements Scenario {
        @Override
        public void run(RankContext context) {
            if (context.isRank(1)) {
                context.die();
            }
        }
    }

    /** Joins the group of all ranks. */
    static final class Joining implements Scenario {
        @Override
        public void run(RankContext context) {
            assertThat(context.group().size()).isEqualTo(context.size());
        }
    }

    /** Runs in a process that was started with as many others as there are other ranks; its bits say in which. */
    static final class Whole implements Scenario {
        @Override
        public void run(RankContext context) {
            assertThat(System.getenv("WORLD_SIZE")).isEqualTo(Integer.toString(context.size()));
            context.fact("bits", Long.toString(ProcessHandle.current().pid()));
        }
    }

    /** Joins two ranks and no more. */
    static final class Pairs implements GroupFactory {
        private final GroupFactory plain = new Plain();

        @Override
        public EpGroup join(Bootstrap bootstrap, EpConfig config) {
            if (bootstrap.size() > 2) {
                throw new EpUnavailableException(bootstrap.size() + " ranks are more than 2");
            }
            return plain.join(bootstrap, config);
        }
    }

    private static Rule rule(Class<? extends Scenario> scenario, Capability... needs) {
        return Rule.of("9.99", "test", scenario, "", needs);
    }

    private static RuleResult run(TckSubject subject, Rule rule, RankMode mode) {
        try (RuleRunner runner = new RuleRunner(subject)) {
            return runner.run(rule, mode, 2);
        }
    }

    @Test
    void aRuleWhoseScenarioReturnsPasses() {
        for (RankMode mode : RankMode.values()) {
            RuleResult result = run(HOST, rule(Nothing.class), mode);
            assertThat(result.outcome()).as(result.reason()).isEqualTo(Outcome.PASS);
            assertThat(result.reason()).isEmpty();
        }
    }

    @Test
    void aRuleThatNeedsWhatIsNotDeclaredIsUnsupported() {
        RuleResult result = run(HOST.without(Capability.HOOK), rule(Nothing.class, Capability.HOOK), RankMode.THREADS);
        assertThat(result.outcome()).isEqualTo(Outcome.UNSUPPORTED);
        assertThat(result.reason()).contains("HOOK");
        assertThat(run(HOST.without(Capability.THREADS), rule(Nothing.class), RankMode.THREADS)
                        .outcome())
                .isEqualTo(Outcome.UNSUPPORTED);
    }

    @Test
    void aMirrorRuleIsNotApplicableWhereTheCapabilityIsDeclared() {
        Rule mirror = rule(Nothing.class).onlyWithout(Capability.HOOK);
        assertThat(run(HOST, mirror, RankMode.THREADS).outcome()).isEqualTo(Outcome.NOT_APPLICABLE);
        assertThat(run(HOST.without(Capability.HOOK), mirror, RankMode.THREADS).outcome())
                .isEqualTo(Outcome.PASS);
    }

    @Test
    void whatIsNotDeclaredButWorksFailsItsMirrorRule() {
        Rule mirror = RuleBook.all().stream()
                .filter(r -> r.absent().equals(Optional.of(Capability.HOOK)))
                .findFirst()
                .orElseThrow();
        RuleResult result = run(HOST.without(Capability.HOOK), mirror, RankMode.THREADS);
        assertThat(result.outcome()).isEqualTo(Outcome.FAIL);
        assertThat(result.reason()).contains("use of HOOK, which is not declared, must throw");
    }

    @Test
    void aRuleForOneModeIsNotApplicableInTheOther() {
        assertThat(run(HOST, rule(Nothing.class).only(RankMode.PROCESSES), RankMode.THREADS)
                        .outcome())
                .isEqualTo(Outcome.NOT_APPLICABLE);
    }

    @Test
    void aBackendThatIsNotThereIsUnavailableWithTheReason() {
        RuleResult result = run(TckSubject.of("no-such-backend", "host"), rule(Nothing.class), RankMode.THREADS);
        assertThat(result.outcome()).isEqualTo(Outcome.UNAVAILABLE);
        assertThat(result.reason()).contains("no-such-backend");
        assertThat(Subjects.required(
                        TckSubject.of("no-such-backend", "host"), Map.of(Subjects.REQUIRE, "a, no-such-backend")))
                .isTrue();
        assertThat(Subjects.required(TckSubject.of("no-such-backend", "host"), Map.of()))
                .isFalse();
    }

    @Test
    void moreRanksThanWereAskedForAndThanCanJoinAreUntestedUnlessRequired() {
        TckSubject pairs = HOST.with(Pairs.class);
        Outcome outcome = Subjects.required(pairs, System.getenv()) ? Outcome.FAIL : Outcome.UNTESTED;
        for (RankMode mode : RankMode.values()) {
            assertThat(run(pairs, rule(Joining.class).withRanks(2), mode).outcome())
                    .isEqualTo(Outcome.PASS);
            RuleResult three = run(pairs, rule(Joining.class).withRanks(3), mode);
            assertThat(three.outcome()).isEqualTo(outcome);
            assertThat(three.reason()).contains("3 ranks are more than 2");
            // Ranks that can join and fail have failed.
            assertThat(run(HOST, rule(Failing.class).withRanks(3), mode).outcome())
                    .isEqualTo(Outcome.FAIL);
        }
    }

    @Test
    void theRankThatFailedFirstIsReportedFirst() {
        for (RankMode mode : RankMode.values()) {
            RuleResult result = run(HOST, rule(Failing.class), mode);
            assertThat(result.outcome()).isEqualTo(Outcome.FAIL);
            assertThat(result.shortReason()).isEqualTo("rank 1 FAILED: java.lang.AssertionError: rank one is wrong");
        }
    }

    @Test
    void deathIsOnlyFineWhereTheRuleSaysSo() {
        for (RankMode mode : RankMode.values()) {
            assertThat(run(HOST, rule(Dying.class).killing(Set.of(1)), mode).outcome())
                    .isEqualTo(Outcome.PASS);
            RuleResult unexpected = run(HOST, rule(Dying.class), mode);
            assertThat(unexpected.outcome()).isEqualTo(Outcome.FAIL);
            assertThat(unexpected.reason()).contains("rank 1 KILLED");
            assertThat(run(HOST, rule(Nothing.class).killing(Set.of(0)), mode).reason())
                    .contains("the rank should have died");
        }
    }

    @Test
    void bitsThatDifferBetweenModesFail() {
        try (RuleRunner runner = new RuleRunner(HOST)) {
            assertThat(runner.run(rule(Changing.class), RankMode.THREADS, 2).outcome())
                    .isEqualTo(Outcome.PASS);
            RuleResult second = runner.run(rule(Changing.class), RankMode.PROCESSES, 2);
            assertThat(second.outcome()).isEqualTo(Outcome.FAIL);
            assertThat(second.reason()).contains("bits differ between THREADS").contains("PROCESSES");
        }
    }

    @Test
    void processesAreKeptForRulesWithAsManyRanksAndNoOthers() {
        try (RuleRunner runner = new RuleRunner(HOST)) {
            for (int ranks : new int[] {3, 3, 2, 2}) {
                RuleResult result = runner.run(rule(Whole.class), RankMode.PROCESSES, ranks);
                assertThat(result.outcome()).as(result.reason()).isEqualTo(Outcome.PASS);
            }
            RuleResult again = runner.run(rule(Whole.class), RankMode.PROCESSES, 3);
            assertThat(again.reason()).contains("bits differ");
        }
    }

    @Test
    void aReportCountsOutcomesAndIsJsonAndMarkdown() {
        ConformanceRequest request = new ConformanceRequest(
                "host-shm",
                "host",
                2,
                Set.of(RankMode.THREADS),
                Map.of(),
                EnumSet.allOf(Capability.class),
                Optional.of("1\\.[1-3]|5\\.201"));
        List<RuleResult> seen = new java.util.ArrayList<>();
        ConformanceReport report = Conformance.run(request, 1, seen::add);
        assertThat(report.results()).isEqualTo(seen).hasSize(4);
        assertThat(report.passed()).isTrue();
        assertThat(report.counts()).containsEntry(Outcome.PASS, 3).containsEntry(Outcome.NOT_APPLICABLE, 1);
        assertThat(report.toJson()).contains("\"rule\" : \"1.1\"").contains("\"passed\" : true");
        assertThat(report.toMarkdown()).contains("| 1.1 |").contains("PROCESSES is declared");
    }
}
