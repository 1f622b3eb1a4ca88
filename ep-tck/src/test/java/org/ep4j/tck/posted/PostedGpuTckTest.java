package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Rules of the kit between emulated GPUs for which host threads post; the emulator takes too long for all rules. */
@Tag("verify")
class PostedGpuTckTest extends EpBackendTck {
    /** Rules of the tier "verify": FP8 rows, cached routing, scales of low latency, the hook, its handles, streams. Each compiles a kernel. */
    private static final Set<String> SOME = Set.of("3.20", "3.50", "4.20", "4.40", "4.45", "10.1");

    private static final Set<String> MORE = Set.of("7.1", "8.1", "10.1");

    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, "cuda").without(Capability.PROCESSES);
    }

    @Override
    protected List<RankMode> modes() {
        return List.of(RankMode.THREADS);
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(3);
    }

    @Override
    protected List<Rule> selected() {
        return rules();
    }

    static List<Rule> rules() {
        return RuleBook.all().stream()
                .filter(rule -> rule.chapter() == 1
                        || SOME.contains(rule.id())
                        || (Tier.all()
                                && ((Set.of(3, 4).contains(rule.chapter())
                                                && rule.id().endsWith("0"))
                                        || rule.chapter() == 11
                                        || MORE.contains(rule.id()))))
                .toList();
    }

    /** Ensures that the rules are not all skipped. */
    @Test
    void emulatedGpusAreThereWhereTheyAreRequired() {
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            assertThat(subject().unavailable()).isEmpty();
        }
    }
}
