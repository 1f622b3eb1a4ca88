package org.ep4j.backend.nvlink;

import java.util.Map;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.mapped.MappedMemoryTck;
import org.ep4j.tck.ranks.RankPool;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** On real GPUs where there are any, and on emulated ones. */
@Tag("verify")
final class MappedMemoryTest extends MappedMemoryTck {
    MappedMemoryTest() {
        super(IpcNvlinkProvider.ID, "cuda");
    }

    @Override
    protected boolean required() {
        return System.getenv("EP_TEST_EMULATED") == null
                ? super.required()
                : "1".equals(System.getenv("EP_REQUIRE_EMULATOR"));
    }

    @ParameterizedTest
    @EnumSource(RankMode.class)
    void theOrderOfWritesOverPciIsTriedForEveryPair(RankMode mode) {
        try (RankPool pool = pool(mode, 3)) {
            allDone(run(pool, OrderScenario.class, Map.of(), 3, "cuda"));
        }
    }
}
