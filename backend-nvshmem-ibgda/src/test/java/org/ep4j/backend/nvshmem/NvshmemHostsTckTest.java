package org.ep4j.backend.nvshmem;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;

/**
 * Processes on two made-up hosts, which map memory inside and put to the other host, where a rank passes rows on. On emulated
 * GPUs, and on real ones where they are many enough.
 */
@Tag("verify")
final class NvshmemHostsTckTest extends EpBackendTck {
    /** FP8 rows, known routing, rows that come back in rounds. */
    private static final Set<String> RULES = Tier.all() ? Set.of("3.20", "3.21", "3.51", "4.1") : Set.of("3.51", "4.1");

    @Override
    protected TckSubject subject() {
        return TckSubject.of(NvshmemProvider.ID, "cuda")
                .without(Capability.THREADS, Capability.RECOVER)
                .with(Map.of(
                        EpKeys.HOST_RANKS.name(), "2",
                        NvshmemKeys.MAPS.name(), "true",
                        // Kernels would store to the other host, which is made up.
                        NvshmemKeys.PUTS.name(), "true"));
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(4);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream().filter(rule -> RULES.contains(rule.id())).toList();
    }
}
