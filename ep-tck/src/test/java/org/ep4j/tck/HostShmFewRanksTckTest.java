package org.ep4j.tck;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/** Rules that depend on the number of ranks, with an odd number and with the smallest. */
@Tag("all")
class HostShmFewRanksTckTest extends EpBackendTck {
    private static final Set<Integer> CHAPTERS = Set.of(2, 3, 4, 9);
    private static final Set<String> RULES = Set.of("5.1", "5.3", "5.8", "6.2", "6.9", "6.20", "6.25", "7.1", "7.2");

    @Override
    protected TckSubject subject() {
        return TckSubject.of("host-shm", "host");
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(3, 2);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> CHAPTERS.contains(rule.chapter()) || RULES.contains(rule.id()))
                .toList();
    }
}
