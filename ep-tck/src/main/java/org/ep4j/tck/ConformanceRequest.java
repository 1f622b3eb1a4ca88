package org.ep4j.tck;

import java.util.Optional;
import java.util.Set;
import org.ep4j.EpArgumentException;

/**
 * A run of the kit.
 *
 * @param subject the backend under test
 * @param ranks number of ranks, at least 2, for rules without a number of their own
 * @param modes how the ranks run
 * @param ruleFilter regular expression over rule ids, for example {@code 3\..*}
 */
public record ConformanceRequest(TckSubject subject, int ranks, Set<RankMode> modes, Optional<String> ruleFilter) {
    /** Copies and checks. */
    public ConformanceRequest {
        modes = Set.copyOf(modes);
        if (ranks < 2) {
            throw new EpArgumentException("ranks", ranks, ">= 2", "ask for at least two ranks");
        }
        if (modes.isEmpty()) {
            throw new EpArgumentException("modes", "none", "THREADS, PROCESSES or both", "name one");
        }
    }
}
