package org.ep4j.engine.layout;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.BufferSize;
import org.ep4j.EpShape;
import org.ep4j.RowLayout;
import org.ep4j.engine.Engine;
import org.ep4j.engine.layout.LocalLayout.HighThroughput;
import org.ep4j.engine.layout.LocalLayout.LowLatency;
import org.ep4j.engine.layout.LocalLayout.Part;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class LocalLayoutTest {
    private static final int RANKS = 64;

    private static EpShape.Builder large() {
        return EpShape.builder(7168, 256, 8).maxTokens(4096);
    }

    private static BufferSize size(EpShape shape) {
        return new Engine().bufferSize(shape, RANKS, 0);
    }

    private static LocalLayout layout(EpShape shape) {
        return new LocalLayout(shape, ShapeSizes.placement(shape, RANKS), 0);
    }

    @Test
    void highThroughputOf64RanksFitsBesideAModel() {
        // Received rows and combine input: 2 * 64 * 4096 rows of 14,336 bytes, and records.
        BufferSize all = size(large().build());
        assertThat(all.bytesAtCreation()).isEqualTo(all.symmetricBytes()).isLessThan(7_700_000_000L);
        assertThat(all.localBytes()).isGreaterThan(30_000_000_000L);
        LocalLayout layout = layout(large().build());
        assertThat(all.localBytes() - layout.bytes(Part.EXPANDED)).isLessThan(700_000_000L);
        BufferSize byRank = size(large().layouts(RowLayout.BY_RANK).build());
        assertThat(byRank.symmetricBytes() + byRank.localBytes()).isLessThan(8_000_000_000L);
        assertThat(size(large().preallocate().build()).bytesAtCreation())
                .isEqualTo(all.symmetricBytes() + all.localBytes());
    }

    @Test
    void withoutByExpertRowsACombineNeedsNoRoomForSelections() {
        EpShape few = large().maxReceivedRows(5000).build();
        EpShape byRank = few.toBuilder().layouts(RowLayout.BY_RANK).build();
        assertThat(size(byRank).symmetricBytes()).isLessThan(size(few).symmetricBytes());
    }

    @Test
    void regionsOfAPartFillIt() {
        LocalLayout layout = layout(large().maxLowLatencyTokens(128).build());
        assertThat(layout.parts()).hasSize(Part.values().length);
        for (HighThroughput region : HighThroughput.values()) {
            assertThat(layout.offsetInPart(region)).isNotNegative().isLessThan(layout.bytes(region.part()));
        }
        for (LowLatency region : LowLatency.values()) {
            long half = layout.bytes(region.part()) / 2;
            assertThat(layout.offsetInPart(2, region)).isNotNegative().isLessThan(half);
            assertThat(layout.offsetInPart(3, region)).isEqualTo(layout.offsetInPart(2, region) + half);
        }
        long sum = 0;
        for (Part part : Part.values()) {
            sum += layout.bytes(part);
        }
        assertThat(sum).isEqualTo(layout.highThroughputBytes() + 2 * layout.lowLatencyBytes());
    }

    @Test
    void aModeThatIsLeftOutHasNoParts() {
        assertThat(layout(large().build()).parts())
                .extracting(BufferSize.Part::use)
                .allMatch(use -> use.startsWith("high throughput: "));
        assertThat(layout(EpShape.builder(64, 64, 2).maxLowLatencyTokens(4).build())
                        .parts())
                .extracting(BufferSize.Part::use)
                .allMatch(use -> use.startsWith("low latency: "));
    }
}
