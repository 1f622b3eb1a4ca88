package org.ep4j.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.function.Function;
import java.util.stream.Stream;
import org.ep4j.tck.Outcome;
import org.ep4j.tck.RuleResult;

/** Runs rules that hang. */
public final class HangingRules {
    private static final Duration SHORT = Duration.ofSeconds(2);
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final int LONGER = 4;

    private HangingRules() {}

    /**
     * Runs a rule that hangs until its timeout, and again with a longer one where the rank had not reached the code that hangs.
     *
     * @param rule run with the timeout
     * @param where lines of a stack that the result contains
     */
    public static RuleResult run(Function<Duration, RuleResult> rule, String... where) {
        Duration limit = SHORT;
        while (true) {
            RuleResult result = rule.apply(limit);
            assertThat(result.outcome()).as(result.reason()).isEqualTo(Outcome.FAIL);
            limit = limit.multipliedBy(LONGER);
            if (Stream.of(where).allMatch(result.reason()::contains) || limit.compareTo(LONG) > 0) {
                return result;
            }
        }
    }
}
