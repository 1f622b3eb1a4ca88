package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.Subjects;
import org.ep4j.tck.TckSubject;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Some of the kit between emulated GPUs that host threads post for; the emulator takes too long for all of it. */
@Tag("verify")
class PostedGpuTckTest extends EpBackendTck {
    /** In the tier "verify": FP8 rows, known routing, scales of low latency, the hook, its handles, streams. Each compiles a kernel for some seconds. */
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

    /** Otherwise every rule would be skipped, and nobody would see it. */
    @Test
    void emulatedGpusAreThereWhereTheyAreRequired() {
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            assertThat(Subjects.unavailable(subject())).isEmpty();
        }
    }
}
