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

/** Ranks of one process that share a GPU and reach each other by host threads alone: no rank waits behind the kernels of another. */
@Tag("all")
class PostedOneGpuTckTest extends EpBackendTck {
    private static final Set<String> RULES = Set.of("3.1", "3.20", "4.1", "4.10");

    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, "cuda:0").without(Capability.PROCESSES);
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
        return RuleBook.all().stream().filter(rule -> RULES.contains(rule.id())).toList();
    }
}
