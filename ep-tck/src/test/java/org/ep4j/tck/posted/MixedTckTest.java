package org.ep4j.tck.posted;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.RuleSamples;
import org.ep4j.tck.TckSubject;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;

/** The whole kit between ranks that map each other's memory in pairs and post to the rest. */
@Tag("verify")
class MixedTckTest extends EpBackendTck {
    private static final Set<String> ROUNDS = Set.of("7.4", "7.5");

    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, "host")
                .without(Capability.PROCESSES)
                .with(Map.of(PostedThreadsProvider.INSIDE.name(), "mapped", PostedThreadsProvider.SEED.name(), "2"))
                .with(SimulatedHosts.class);
    }

    @Override
    protected List<RankMode> modes() {
        return List.of(RankMode.THREADS);
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(4);
    }

    /**
     * Selects in the tier "verify" a third of the exchanges and refusals and half of the failures, others than {@link PostedTckTest} runs,
     * and not the hundreds of rounds that host-shm runs.
     */
    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> Tier.all() || isShort(rule))
                .toList();
    }

    private static boolean isShort(Rule rule) {
        return RuleSamples.isThird(rule, 1) && RuleSamples.isHalfOfFailures(rule, 1) && !ROUNDS.contains(rule.id());
    }
}
