package org.ep4j.tck.posted;

import java.util.List;
import java.util.Set;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.Tag;

/** Exchanges and what fails in them, between two ranks. */
@Tag("all")
class PostedFewRanksTckTest extends EpBackendTck {
    private static final Set<Integer> CHAPTERS = Set.of(3, 4);
    private static final Set<String> RULES = Set.of("6.2", "6.3", "6.4", "6.5", "6.9");

    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, "host").without(Capability.PROCESSES);
    }

    @Override
    protected List<RankMode> modes() {
        return List.of(RankMode.THREADS);
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(2);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> CHAPTERS.contains(rule.chapter()) || RULES.contains(rule.id()))
                .toList();
    }
}
