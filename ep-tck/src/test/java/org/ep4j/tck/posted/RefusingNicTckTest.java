package org.ep4j.tck.posted;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.Tag;

/** Emulated GPUs whose memory the NIC fails to register, so that windows are in host memory. */
@Tag("all")
class RefusingNicTckTest extends EpBackendTck {
    private static final Set<String> RULES = Set.of("3.10", "4.10", "7.1");

    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, "cuda")
                .without(Capability.PROCESSES)
                .with(Map.of(PostedThreadsProvider.REGISTERS.name(), "nothing"));
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
