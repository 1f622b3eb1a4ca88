package org.ep4j.backend.nvlink;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Rule;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The whole kit on real GPUs, which ranks share where there are fewer, and its first chapter on emulated ones. Without a GPU
 * every rule is skipped with the reason, and fails where {@code EP_TCK_REQUIRE} names the backend.
 */
@Tag("verify")
final class IpcNvlinkTckTest extends EpBackendTck {
    private static final boolean EMULATED = System.getenv("EP_TEST_EMULATED") != null;

    @Override
    protected TckSubject subject() {
        return TckSubject.of("ipc-nvlink", "cuda");
    }

    @Override
    protected List<Integer> ranks() {
        return EMULATED ? List.of(3) : List.of(4, 3, 2);
    }

    @Override
    protected List<Rule> selected() {
        return RuleBook.all().stream()
                .filter(rule -> !EMULATED || rule.chapter() == 1)
                .toList();
    }

    /** Otherwise every rule would be skipped, and nobody would see it. */
    @Test
    void emulatedGpusAreThereWhereTheyAreRequired() {
        if (EMULATED && "1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            assertThat(subject().unavailable()).isEmpty();
        }
    }
}
