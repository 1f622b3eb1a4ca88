package org.ep4j.tck;

import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpArgumentException;

/**
 * What to run.
 *
 * @param backend id of the backend
 * @param device device of the ranks
 * @param ranks number of ranks, at least 2, where a rule does not need a certain one
 * @param modes what the ranks are
 * @param settings configuration of every group
 * @param declared what the backend says it can do
 * @param ruleFilter regular expression over rule ids, for example {@code 3\..*}
 */
public record ConformanceRequest(
        String backend,
        String device,
        int ranks,
        Set<RankMode> modes,
        Map<String, String> settings,
        Set<Capability> declared,
        Optional<String> ruleFilter) {
    /** Copies and checks. */
    public ConformanceRequest {
        modes = Set.copyOf(modes);
        settings = Map.copyOf(settings);
        declared = Set.copyOf(declared);
        if (ranks < 2) {
            throw new EpArgumentException("ranks", ranks, ">= 2", "ask for at least two ranks");
        }
        if (modes.isEmpty()) {
            throw new EpArgumentException("modes", "none", "THREADS, PROCESSES or both", "name one");
        }
    }

    /** Everything declared, in both modes. */
    public static ConformanceRequest of(String backend, String device, int ranks) {
        return new ConformanceRequest(
                backend,
                device,
                ranks,
                EnumSet.allOf(RankMode.class),
                Map.of(),
                EnumSet.allOf(Capability.class),
                Optional.empty());
    }
}
