package org.ep4j.tck;

import java.time.Duration;

/**
 * What came of one rule in one mode.
 *
 * @param id of the rule
 * @param text of the rule
 * @param mode what the ranks were
 * @param ranks how many
 * @param outcome what came of it
 * @param reason why, where it is not PASS; for FAIL with the stack traces of the ranks
 * @param elapsed time it took
 */
public record RuleResult(
        String id, String text, RankMode mode, int ranks, Outcome outcome, String reason, Duration elapsed) {
    /** The first line of the reason. */
    public String shortReason() {
        int end = reason.indexOf('\n');
        return end < 0 ? reason : reason.substring(0, end);
    }
}
