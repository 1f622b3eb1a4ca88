package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.Subjects;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.Test;

/** Some of the kit between emulated GPUs that host threads post for; the emulator takes too long for all of it. */
class PostedGpuTckTest extends EpBackendTck {
    private static final Set<String> RULES = Set.of(
            "3.84", "3.86", "3.87", "3.91", "3.92", "4.28", "4.45", "4.46", "4.62", "4.64", "7.1", "8.1", "10.1",
            "10.14");

    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, "cuda").without(Capability.PROCESSES);
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(3);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> rule.chapter() == 1
                        || (Set.of(3, 4).contains(rule.chapter()) && rule.id().endsWith("0"))
                        || RULES.contains(rule.id()))
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
