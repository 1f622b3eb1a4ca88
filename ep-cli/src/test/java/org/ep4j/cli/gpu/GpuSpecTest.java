package org.ep4j.cli.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class GpuSpecTest {
    private static List<Part> compared(String... operations) {
        return GpuSpec.compared(GpuOperation.named(List.of(operations)), List.of(4096), List.of(8, 64));
    }

    @Test
    void rowsByExpertAreComparedWithBothPrecisions() {
        assertThat(compared("ht.dispatch.bf16", "ht.combine.bf16"))
                .containsExactly(
                        new Part(Mode.HT, 256, Wire.BF16, RowLayout.BY_RANK, false),
                        new Part(Mode.HT, 256, Wire.BF16, RowLayout.BY_EXPERT, true));
    }

    @Test
    void halvesAreComparedWhereOneIsMeasured() {
        assertThat(compared("ll.combine.logfmt", "ll.dispatch.fp8-pow2"))
                .containsExactly(
                        new Part(Mode.LL, 64, Wire.FP8, RowLayout.BY_RANK, false),
                        new Part(Mode.LL, 64, Wire.BF16, RowLayout.BY_RANK, false));
        assertThat(compared("ll.dispatch.fp8.receive", "ll.combine.exact"))
                .containsExactly(
                        new Part(Mode.LL, 64, Wire.FP8, RowLayout.BY_RANK, true),
                        new Part(Mode.LL, 64, Wire.BF16, RowLayout.BY_RANK, true));
    }
}
