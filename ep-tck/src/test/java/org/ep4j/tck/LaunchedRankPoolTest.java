package org.ep4j.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.Bootstrap;
import org.ep4j.tck.faults.HangingRules;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Rules on ranks that a launcher has started; here these are threads. */
@Tag("verify")
final class LaunchedRankPoolTest {
    private static final TckSubject HOST = TckSubject.of("host-shm", "host");
    private static final int RANKS = 3;

    /** Passes when all ranks have entered a barrier. */
    static final class EntersBarrier implements Scenario {
        @Override
        public void run(RankContext context) {
            context.barrier();
        }
    }

    /** Rank 1 fails while the others wait for it. */
    static final class Fails implements Scenario {
        @Override
        public void run(RankContext context) {
            if (context.isRank(1)) {
                throw new AssertionError("rank one is wrong");
            }
            context.barrier();
        }
    }

    /** Rank 1 does not enter the barrier. */
    static final class Hangs implements Scenario {
        @Override
        public void run(RankContext context) {
            if (context.isRank(1)) {
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            context.barrier();
        }
    }

    private final List<Bootstrap> members = Bootstrap.inProcess(RANKS);
    private final List<Thread> servers = new ArrayList<>();

    private RuleRunner runner() {
        members.subList(1, RANKS).forEach(member -> {
            Thread thread = new Thread(() -> Conformance.serve(member), "tck-server");
            thread.setDaemon(true);
            thread.start();
            servers.add(thread);
        });
        return new RuleRunner(HOST, Optional.of(members.get(0)));
    }

    private static Rule rule(Class<? extends Scenario> scenario) {
        return rule("", scenario, "");
    }

    private static Rule rule(String conditions, Class<? extends Scenario> scenario, String params) {
        return Rule.parse("9.99 | " + conditions + " | " + scenario.getName() + " " + params + " | test");
    }

    private static RuleResult run(RuleRunner runner, Rule rule) {
        return runner.run(rule, RankMode.PROCESSES, RANKS);
    }

    @AfterEach
    void everyRankEnds() throws InterruptedException {
        for (Thread server : servers) {
            server.join(Guard.minute().toMillis());
            assertThat(server.isAlive()).as(server.getName()).isFalse();
        }
        members.forEach(Bootstrap::close);
    }

    @Test
    void rulesPassOneAfterAnother() {
        try (RuleRunner runner = runner()) {
            for (int round = 0; round < 3; round++) {
                RuleResult result = run(runner, rule(EntersBarrier.class));
                assertThat(result.outcome()).as(result.reason()).isEqualTo(Outcome.PASS);
            }
            assertThat(run(runner, rule("ranks=2", EntersBarrier.class, "")).outcome())
                    .isEqualTo(Outcome.PASS);
        }
    }

    @Test
    void aRankThatFailsIsNamedAndTheNextRuleRuns() {
        try (RuleRunner runner = runner()) {
            RuleResult failed = run(runner, rule(Fails.class));
            assertThat(failed.outcome()).isEqualTo(Outcome.FAIL);
            assertThat(failed.reason()).startsWith("rank 1 FAILED").contains("rank one is wrong");
            RuleResult next = run(runner, rule(EntersBarrier.class));
            assertThat(next.outcome()).as(next.reason()).isEqualTo(Outcome.PASS);
        }
    }

    @Test
    void aRankThatHangsIsNamedWithItsThreads() {
        try (RuleRunner runner = runner()) {
            RuleResult hung =
                    HangingRules.run(limit -> run(runner, rule(Hangs.class).within(limit)), "Hangs.run");
            assertThat(hung.reason()).contains("rank 1 HUNG", "Hangs.run");
        }
    }

    @Test
    void rulesThatKillAreUntested() {
        try (RuleRunner runner = runner()) {
            RuleResult result = run(runner, rule("", EntersBarrier.class, "victims=1"));
            assertThat(result.outcome()).isEqualTo(Outcome.UNTESTED);
            assertThat(result.reason()).contains("launcher");
        }
    }

    @Test
    void otherRanksEndAlsoWithoutAnyRule() {
        runner().close();
        assertThat(servers).hasSize(RANKS - 1);
    }
}
