package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.posted.ScenarioRuns.Paths;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Failures that only posted paths can have. */
@Tag("verify")
class PostedFailuresTest {
    @Test
    void othersContinueWithoutALivingRankThatCannotBeReached() {
        ScenarioRuns.run(Paths.POSTED, CutFromRankZero.class.getName(), 3, "CutLinkScenario", "", 5);
    }

    @Test
    void othersContinueWithoutALivingRankThatTheyMask() {
        ScenarioRuns.run(Paths.POSTED, CutFromRankZero.class.getName(), 3, "MaskedByHandScenario", "", 5);
    }

    @Test
    void aPathThatTheEngineCannotUseIsNamed() {
        EpShape shape = EpShape.builder(64, 4, 2).maxTokens(4).build();
        List<CompletableFuture<Void>> ranks = Bootstrap.inProcess(2).stream()
                .map(bootstrap -> CompletableFuture.runAsync(() -> {
                    EpConfig config = EpConfig.builder(Map.of(), Map.of())
                            .device(Device.HOST)
                            .require(PostedThreadsProvider.ID)
                            .set(PostedThreadsProvider.INSIDE.name(), "device-posted")
                            .build();
                    try (EpGroup group = EpGroup.join(bootstrap, config)) {
                        group.createBuffer(shape);
                    }
                }))
                .toList();
        for (CompletableFuture<Void> rank : ranks) {
            assertThatThrownBy(rank::join)
                    .isInstanceOf(CompletionException.class)
                    .cause()
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContainingAll(
                            "rank 0",
                            "rank 1",
                            PostedThreadsProvider.ID + ": ranks on the host have no GPU that could post");
        }
        assertThat(ranks).hasSize(2);
    }
}
