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

/** Exchanges and failures between emulated GPUs that use all kinds of paths in one operation. */
@Tag("all")
class AllKindsTckTest extends EpBackendTck {
    private static final Set<Integer> CHAPTERS = Set.of(3, 4, 6);

    @Override
    protected TckSubject subject() {
        // Memory that kernels post from does not move.
        return TckSubject.of(PostedThreadsProvider.ID, "cuda")
                .without(Capability.PROCESSES, Capability.RECOVER)
                .with(AllKinds.settings("0-2,1-2"))
                .with(AllKinds.class);
    }

    @Override
    protected List<RankMode> modes() {
        return List.of(RankMode.THREADS);
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(4);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> CHAPTERS.contains(rule.chapter()))
                .toList();
    }
}
