package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class EpShapeTest {
    private static EpShape.Builder good() {
        return EpShape.builder(7168, 256, 8).maxTokens(4096).maxLowLatencyTokens(128);
    }

    @Test
    void aBuilderGivesWhatWasSet() {
        EpShape shape = limited().build();
        assertThat(shape.hidden()).isEqualTo(7168);
        assertThat(shape.experts()).isEqualTo(256);
        assertThat(shape.topK()).isEqualTo(8);
        assertThat(shape.maxTokens()).isEqualTo(4096);
        assertThat(shape.maxReceivedRows()).isEqualTo(10_000);
        assertThat(shape.maxLowLatencyTokens()).isEqualTo(128);
        assertThat(shape.placement()).contains(ExpertPlacement.block(256, 4));
    }

    private static EpShape.Builder limited() {
        return good().maxReceivedRows(10_000).placement(ExpertPlacement.block(256, 4));
    }

    @Test
    void shapesAreValuesThatCanBeChangedByCopies() {
        EpShape shape = limited().build();
        assertThat(shape)
                .isEqualTo(limited().build())
                .hasSameHashCodeAs(limited().build());
        EpShape copy = shape.toBuilder().maxReceivedRows(9).build();
        assertThat(copy)
                .isNotEqualTo(shape)
                .isEqualTo(limited().maxReceivedRows(9).build());
        assertThat(copy)
                .hasToString("EpShape[hidden=7168, experts=256, topK=8, maxTokens=4096, maxReceivedRows=9,"
                        + " maxLowLatencyTokens=128, placement=Optional[block(256 experts, 4 ranks)],"
                        + " layouts=[BY_RANK, BY_EXPERT], preallocated=false]");
    }

    @Test
    void layoutsAndPreallocationAreKeptByCopies() {
        EpShape all = good().build();
        assertThat(all.layouts()).containsExactly(RowLayout.BY_RANK, RowLayout.BY_EXPERT);
        assertThat(all.preallocated()).isFalse();
        EpShape shape = good().layouts(RowLayout.BY_RANK).preallocate().build();
        assertThat(shape.layouts()).containsExactly(RowLayout.BY_RANK);
        assertThat(shape.preallocated()).isTrue();
        assertThat(shape).isNotEqualTo(all).isEqualTo(shape.toBuilder().build());
        // Ranks compare the text, so the order in which layouts are named must not matter.
        assertThat(good().layouts(RowLayout.BY_EXPERT, RowLayout.BY_RANK).build())
                .isEqualTo(all)
                .hasToString(all.toString());
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
    void aNegativeLimitOfReceivedRowsIsRefused() {
        assertThat(good().build().maxReceivedRows()).isZero();
        assertThatThrownBy(() -> good().maxReceivedRows(-1).build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("maxReceivedRows is -1");
    }

    @Test
    void aPlacementMustPlaceEveryExpertOfTheShape() {
        assertThatThrownBy(() -> good().placement(ExpertPlacement.block(255, 4)).build())
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("255 experts")
                .hasMessageContaining("256 experts");
        assertThat(good().build().placement()).isEmpty();
    }
}
