package org.ep4j.tck;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;

/**
 * The kit for JUnit: a subclass names the subject, and every rule is a test whose name begins with its id.
 *
 * <pre>{@code
 * class MyBackendTckTest extends EpBackendTck {
 *     protected TckSubject subject() {
 *         return TckSubject.of("my-backend", "host");
 *     }
 * }
 * }</pre>
 *
 * A rule that fails fails its test. Outcomes other than PASS and FAIL abort the test with the reason, so that reports show it.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class EpBackendTck {
    private static final System.Logger LOG = System.getLogger("org.ep4j.tck");

    private Optional<RuleRunner> runner = Optional.empty();

    /** Returns the subject under test. */
    protected abstract TckSubject subject();

    /** Returns the numbers of ranks to run with; rules with a number of their own run once. */
    protected List<Integer> ranks() {
        return List.of(2);
    }

    /** Returns the modes to run in, one after the other. */
    protected List<RankMode> modes() {
        return List.of(RankMode.values());
    }

    /** Returns the rules to run. */
    protected List<Rule> selected() {
        return RuleBook.all();
    }

    /** Returns one container for each mode and number of ranks, with one for each chapter, with one test for each rule. */
    @TestFactory
    Stream<DynamicContainer> rules() {
        List<String> unavailable = subject().unavailable();
        if (!unavailable.isEmpty() && !subject().required(System.getenv())) {
            return Stream.of(DynamicContainer.dynamicContainer(
                    subject().backend() + " is not available here",
                    List.of(DynamicTest.dynamicTest("every rule", () -> skip(unavailable)))));
        }
        List<DynamicContainer> runs = new ArrayList<>();
        for (RankMode mode : modes()) {
            for (int i = 0; i < ranks().size(); i++) {
                int number = ranks().get(i);
                boolean first = i == 0;
                List<Rule> rules = selected().stream()
                        .filter(rule -> first || rule.ranks() == 0)
                        .toList();
                runs.add(DynamicContainer.dynamicContainer(
                        mode + ", " + number + " ranks", chapters(rules, mode, number)));
            }
        }
        return runs.stream();
    }

    /** Skips all rules at once, since the reason is the same for all. */
    private void skip(List<String> unavailable) {
        String reason = Outcome.UNAVAILABLE + ": " + String.join("; ", unavailable);
        LOG.log(System.Logger.Level.INFO, "skipped all rules of " + subject().backend() + ": " + reason);
        Assumptions.abort(reason);
    }

    private Stream<DynamicContainer> chapters(List<Rule> rules, RankMode mode, int number) {
        return rules.stream()
                .map(Rule::chapter)
                .distinct()
                .map(chapter -> DynamicContainer.dynamicContainer(
                        RuleBook.chapter(chapter),
                        rules.stream()
                                .filter(rule -> rule.chapter() == chapter)
                                .map(rule -> DynamicTest.dynamicTest(
                                        rule.id() + " " + rule.text(), () -> check(rule, mode, number)))));
    }

    private void check(Rule rule, RankMode mode, int number) {
        if (runner.isEmpty()) {
            runner = Optional.of(new RuleRunner(subject()));
        }
        RuleResult result = runner.get().run(rule, mode, number);
        if (result.outcome() == Outcome.FAIL) {
            throw new AssertionError(result.id() + " " + result.mode() + ": " + result.reason());
        }
        Assumptions.assumeTrue(result.outcome() == Outcome.PASS, result.outcome() + ": " + result.reason());
    }

    /** Shuts the ranks down. */
    @AfterAll
    void shutDown() {
        runner.ifPresent(RuleRunner::close);
        runner = Optional.empty();
    }
}
