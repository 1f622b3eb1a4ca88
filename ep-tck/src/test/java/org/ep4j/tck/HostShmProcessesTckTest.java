package org.ep4j.tck;

import java.util.List;
import java.util.Set;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;

/** The whole kit on the backend that every machine can run, with ranks as processes. */
@Tag("verify")
class HostShmProcessesTckTest extends HostShmTckTest {
    /** Chapters on failures, soak and sizes, which run with threads, too. */
    private static final Set<Integer> LONG = Set.of(6, 7, 8);

    /**
     * Rules of these chapters in the tier "verify": ranks that died or are killed, which threads cannot be, and ranks that run ahead. Each rule
     * of chapter 6 starts processes of its own, which takes seconds.
     */
    private static final Set<String> SOME = Set.of("6.15", "6.21", "6.29", "7.1", "7.2");

    @Override
    protected List<Integer> ranks() {
        return List.of(Tier.all() ? 4 : 3);
    }

    @Override
    protected List<RankMode> modes() {
        return List.of(RankMode.PROCESSES);
    }

    /** Selects in the tier "verify" a third of the exchanges and refusals, too, which all run with threads. */
    @Override
    protected List<Rule> selected() {
        return super.selected().stream()
                .filter(rule -> Tier.all() || isShort(rule))
                .toList();
    }

    private static boolean isShort(Rule rule) {
        return RuleSamples.isThird(rule, 2) && (!LONG.contains(rule.chapter()) || SOME.contains(rule.id()));
    }
}
