package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EpShapeTest {
    private static EpShape.Builder good() {
        return EpShape.builder(7168, 256, 8).maxTokens(4096).maxLowLatencyTokens(128);
    }

    @Test
    void aBuilderGivesWhatWasSet() {
        EpShape shape = good().maxReceivedTokens(10_000)
                .placement(ExpertPlacement.block(256, 4))
                .layouts(RowLayout.BY_RANK)
                .build();
        assertThat(shape)
                .isEqualTo(new EpShape(
                        7168,
                        256,
                        8,
                        4096,
                        10_000,
                        128,
                        Optional.of(ExpertPlacement.block(256, 4)),
                        Set.of(RowLayout.BY_RANK)));
    }

    @Test
    void allLayoutsAreInAShapeThatNamesNone() {
        assertThat(good().build().layouts()).containsExactlyInAnyOrder(RowLayout.values());
    }

    @ParameterizedTest
    @CsvSource({
        "0,256,8,1,1,hidden",
        "8,256,8,1,1,hidden",
        "7169,256,8,1,1,hidden",
        "1048592,256,8,1,1,hidden",
        "16,0,8,1,1,experts",
        "16,1048577,8,1,1,experts",
        "16,256,0,1,1,topK",
        "16,256,33,1,1,topK",
        "16,256,8,-1,1,maxTokens",
        "16,256,8,16777217,1,maxTokens",
        "16,256,8,1,-1,maxLowLatencyTokens",
        "16,256,8,1,16777217,maxLowLatencyTokens",
        "16,256,8,0,0,maxTokens",
    })
    void aSizeOutOfItsRangeIsRefusedByName(int hidden, int experts, int topK, int tokens, int lowLatency, String name) {
        EpShape.Builder builder =
                EpShape.builder(hidden, experts, topK).maxTokens(tokens).maxLowLatencyTokens(lowLatency);
        assertThatThrownBy(builder::build)
                .isInstanceOfSatisfying(
                        EpArgumentException.class, e -> assertThat(e.name()).isEqualTo(name));
    }

    @Test
    void theLargestAndSmallestSizesAreAllowed() {
        EpShape.builder(EpShape.MAX_HIDDEN, EpShape.MAX_EXPERTS, EpShape.MAX_TOP_K)
                .maxTokens(EpShape.MAX_TOKENS)
                .maxLowLatencyTokens(EpShape.MAX_TOKENS)
                .build();
        assertThat(EpShape.builder(16, 1, 1).maxTokens(1).build().scales()).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"16,1", "128,1", "144,2", "256,2", "7168,56"})
    void thereIsOneScaleForEach128Channels(int hidden, int scales) {
        assertThat(EpShape.builder(hidden, 1, 1).maxTokens(1).build().scales()).isEqualTo(scales);
    }

    @Test
    void capacitiesAreTheWorstCaseUnlessLimited() {
        assertThat(good().build().receiveCapacity(8)).isEqualTo(8L * 4096);
        assertThat(good().maxReceivedTokens(100).build().receiveCapacity(8)).isEqualTo(100);
        assertThat(good().maxReceivedTokens(Long.MAX_VALUE).build().receiveCapacity(8))
                .isEqualTo(8L * 4096);
        assertThat(good().build().lowLatencyRows(8)).isEqualTo(8L * 128);
        EpShape large = EpShape.builder(16, 1, 1).maxTokens(EpShape.MAX_TOKENS).build();
        assertThat(large.receiveCapacity(1024)).isEqualTo(1L << 34);
        assertThatThrownBy(() -> good().maxReceivedTokens(-1).build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("maxReceivedTokens is -1");
    }

    @Test
    void aPlacementMustPlaceEveryExpertOfTheShapeAndFitTheGroup() {
        assertThatThrownBy(() -> good().placement(ExpertPlacement.block(255, 4)).build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("255 experts")
                .hasMessageContaining("256 experts");
        EpShape shape = good().placement(ExpertPlacement.block(256, 4)).build();
        assertThat(shape.placementFor(4)).isEqualTo(ExpertPlacement.block(256, 4));
        assertThatThrownBy(() -> shape.placementFor(8))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("4 ranks")
                .hasMessageContaining("8 ranks");
        assertThat(good().build().placementFor(8)).isEqualTo(ExpertPlacement.block(256, 8));
    }
}
