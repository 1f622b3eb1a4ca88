package org.ep4j.tck;

import java.util.List;
import java.util.Set;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;

/** The whole kit on the backend that every machine can run, with ranks as processes. */
@Tag("verify")
class HostShmProcessesTckTest extends HostShmTckTest {
    /** Exchanges, of which a third is run in the tier "verify"; all run as threads, too. */
    private static final Set<Integer> EXCHANGES = Set.of(3, 4);

    /** Failures and sizes, which run as threads, too. */
    private static final Set<Integer> LONG = Set.of(6, 8);

    /** In the tier "verify": ranks that died or are killed, which no thread can be. Each rule starts processes of its own. */
    private static final Set<String> KILLED = Set.of("6.12", "6.14", "6.15", "6.21", "6.22", "6.24", "6.28");

    @Override
    protected List<RankMode> modes() {
        return List.of(RankMode.PROCESSES);
    }

    @Override
    protected List<Rule> selected() {
        return super.selected().stream()
                .filter(rule -> Tier.all() || isShort(rule))
                .toList();
    }

    private static boolean isShort(Rule rule) {
        if (EXCHANGES.contains(rule.chapter())) {
            return rule.number() % 3 == 0;
        }
        return !LONG.contains(rule.chapter()) || KILLED.contains(rule.id());
    }
}
