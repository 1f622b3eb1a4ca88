package org.ep4j.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class RuleRunnerTest {
    private static final TckSubject HOST = TckSubject.of("host-shm", "host");

    /** Passes when all ranks have entered a barrier. */
    static final class Nothing implements Scenario {
        @Override
        public void run(RankContext context) {
            context.barrier();
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
            context.barrier();
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

    /** Requires a process that was started with as many others as there are other ranks; its bits identify the process. */
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

    private static Rule rule(Class<? extends Scenario> scenario) {
        return rule("", scenario, "");
    }

    private static Rule rule(String conditions, Class<? extends Scenario> scenario, String params) {
        return Rule.parse("9.99 | " + conditions + " | " + scenario.getName() + " " + params + " | test");
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
        RuleResult result = run(HOST.without(Capability.HOOK), rule("HOOK", Nothing.class, ""), RankMode.THREADS);
        assertThat(result.outcome()).isEqualTo(Outcome.UNSUPPORTED);
        assertThat(result.reason()).contains("HOOK");
        assertThat(run(HOST.without(Capability.THREADS), rule(Nothing.class), RankMode.THREADS)
                        .outcome())
                .isEqualTo(Outcome.UNSUPPORTED);
    }

    @Test
    void aMirrorRuleIsNotApplicableWhereTheCapabilityIsDeclared() {
        Rule mirror = rule("without=HOOK", Nothing.class, "");
        assertThat(run(HOST, mirror, RankMode.THREADS).outcome()).isEqualTo(Outcome.NOT_APPLICABLE);
        assertThat(run(HOST.without(Capability.HOOK), mirror, RankMode.THREADS).outcome())
                .isEqualTo(Outcome.PASS);
    }

    @Test
    void anUndeclaredCapabilityThatWorksFailsItsMirrorRule() {
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
        assertThat(run(HOST, rule("only=PROCESSES", Nothing.class, ""), RankMode.THREADS)
                        .outcome())
                .isEqualTo(Outcome.NOT_APPLICABLE);
    }

    @Test
    void aMissingBackendIsUnavailableWithTheReason() {
        RuleResult result = run(TckSubject.of("no-such-backend", "host"), rule(Nothing.class), RankMode.THREADS);
        assertThat(result.outcome()).isEqualTo(Outcome.UNAVAILABLE);
        assertThat(result.reason()).contains("no-such-backend");
        assertThat(TckSubject.of("no-such-backend", "host").required(Map.of(TckSubject.REQUIRE, "a, no-such-backend")))
                .isTrue();
        assertThat(TckSubject.of("no-such-backend", "host").required(Map.of())).isFalse();
    }

    @Test
    void moreRanksThanWereAskedForAndThanCanJoinAreUntestedUnlessRequired() {
        TckSubject pairs = HOST.with(Pairs.class);
        Outcome outcome = pairs.required(System.getenv()) ? Outcome.FAIL : Outcome.UNTESTED;
        for (RankMode mode : RankMode.values()) {
            assertThat(run(pairs, rule("ranks=2", Joining.class, ""), mode).outcome())
                    .isEqualTo(Outcome.PASS);
            RuleResult three = run(pairs, rule("ranks=3", Joining.class, ""), mode);
            assertThat(three.outcome()).isEqualTo(outcome);
            assertThat(three.reason()).contains("3 ranks are more than 2");
            // Ranks that can join and fail have failed.
            assertThat(run(HOST, rule("ranks=3", Failing.class, ""), mode).outcome())
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
    void aRankMayDieOnlyIfTheRuleKillsIt() {
        for (RankMode mode : RankMode.values()) {
            assertThat(run(HOST, rule("", Dying.class, "victims=1"), mode).outcome())
                    .isEqualTo(Outcome.PASS);
            RuleResult unexpected = run(HOST, rule(Dying.class), mode);
            assertThat(unexpected.outcome()).isEqualTo(Outcome.FAIL);
            assertThat(unexpected.reason()).contains("rank 1 KILLED");
            assertThat(run(HOST, rule("", Nothing.class, "victims=0"), mode).reason())
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
        ConformanceRequest request =
                new ConformanceRequest(HOST, 2, Set.of(RankMode.THREADS), Optional.of("1\\.[1-3]|5\\.201"));
        List<RuleResult> seen = new ArrayList<>();
        ConformanceReport report = Conformance.run(request, 1, seen::add);
        assertThat(report.results()).isEqualTo(seen).hasSize(4);
        assertThat(report.passed()).isTrue();
        assertThat(report.counts()).containsEntry(Outcome.PASS, 3).containsEntry(Outcome.NOT_APPLICABLE, 1);
        assertThat(report.toJson()).contains("\"rule\" : \"1.1\"").contains("\"passed\" : true");
        assertThat(report.toMarkdown()).contains("| 1.1 |").contains("PROCESSES is declared");
    }
}
