package org.ep4j.tck;

import java.time.Duration;

/**
 * The result of one rule in one mode.
 *
 * @param id of the rule
 * @param text of the rule
 * @param mode of the ranks
 * @param ranks their number
 * @param outcome of the rule
 * @param reason of an outcome other than PASS; for FAIL with the stack traces of the ranks
 * @param elapsed time that the rule took
 */
public record RuleResult(
        String id, String text, RankMode mode, int ranks, Outcome outcome, String reason, Duration elapsed) {
    /** Returns the first line of the reason. */
    public String shortReason() {
        int end = reason.indexOf('\n');
        return end < 0 ? reason : reason.substring(0, end);
    }
}
