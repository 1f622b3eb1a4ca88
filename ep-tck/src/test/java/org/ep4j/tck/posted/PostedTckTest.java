package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
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
import org.junit.jupiter.api.Test;

/** The whole kit between ranks that all post to each other. */
@Tag("verify")
class PostedTckTest extends EpBackendTck {
    private static final Set<String> ROUNDS = Set.of("7.4", "7.5");

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
        return List.of(3);
    }

    /**
     * Selects in the tier "verify" a third of the exchanges and refusals and half of the failures, others than {@link MixedTckTest} runs,
     * and not the hundreds of rounds that host-shm runs.
     */
    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> Tier.all() || isShort(rule))
                .toList();
    }

    private static boolean isShort(Rule rule) {
        return RuleSamples.isThird(rule, 0) && RuleSamples.isHalfOfFailures(rule, 0) && !ROUNDS.contains(rule.id());
    }

    /** Ensures that the rules are not all skipped. */
    @Test
    void theBackendIsAvailableEverywhere() {
        assertThat(subject().unavailable()).isEmpty();
    }
}
