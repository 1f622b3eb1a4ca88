package org.ep4j.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.RowLayout;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class ShapeSizesTest {
    private static EpShape.Builder good() {
        return EpShape.builder(7168, 256, 8).maxTokens(4096).maxLowLatencyTokens(128);
    }

    @Test
    void capacitiesAreTheWorstCaseUnlessLimited() {
        assertThat(ShapeSizes.receivedRows(good().build(), 8)).isEqualTo(8L * 4096);
        assertThat(ShapeSizes.receivedRows(good().maxReceivedRows(100).build(), 8))
                .isEqualTo(100);
        assertThat(ShapeSizes.receivedRows(
                        good().maxReceivedRows(Long.MAX_VALUE).build(), 8))
                .isEqualTo(8L * 4096);
        assertThat(ShapeSizes.lowLatencyRows(good().build(), 8)).isEqualTo(8L * 128);
        EpShape large = EpShape.builder(16, 1, 1).maxTokens(EpShape.MAX_TOKENS).build();
        assertThat(ShapeSizes.receivedRows(large, 1024)).isEqualTo(1L << 34);
    }

    @Test
    void byExpertRowsAreBoundedBySelectionsAndPadding() {
        EpShape shape = good().maxReceivedRows(100).build();
        assertThat(ShapeSizes.maxRows(shape, 8, 32, RowLayout.BY_RANK, 128)).isEqualTo(100);
        assertThat(ShapeSizes.maxRows(shape, 8, 32, RowLayout.BY_EXPERT, 128)).isEqualTo(100 * 8 + 32 * 127);
        assertThat(ShapeSizes.maxRows(shape, 8, 0, RowLayout.BY_EXPERT, 128)).isZero();
    }

    @Test
    void aPlacementMustFitTheGroup() {
        EpShape shape = good().placement(ExpertPlacement.block(256, 4)).build();
        assertThat(ShapeSizes.placement(shape, 4)).isEqualTo(ExpertPlacement.block(256, 4));
        assertThatThrownBy(() -> ShapeSizes.placement(shape, 8))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("4 ranks")
                .hasMessageContaining("8 ranks");
        assertThat(ShapeSizes.placement(good().build(), 8)).isEqualTo(ExpertPlacement.block(256, 8));
    }
}
