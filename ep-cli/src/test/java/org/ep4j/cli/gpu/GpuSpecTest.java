package org.ep4j.cli.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import org.ep4j.EpConfig;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.ExchangeSpec;
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

    /** Settings that ranks of a measurement with these numbers have from it. */
    private static Set<String> given(int sms, int lowLatencySms) {
        ExchangeSpec work =
                new ExchangeSpec(1, "cuda:0", "", 64, 2, 8, List.of(), 0, 0, 0, 0, 1, false, 1, false, 5, "");
        return new GpuSpec(work, List.of(8), List.of(8), sms, lowLatencySms, List.of(), 0, 1, List.of())
                .settings(0)
                .build()
                .names(EpConfig.Origin.BUILDER);
    }

    /** A system property or a measured value counts where the command names no number. */
    @Test
    void numbersOfMultiprocessorsThatAreNotNamedAreNotSet() {
        assertThat(given(0, 0)).containsExactly("ep.device");
        assertThat(given(3, 0)).containsExactlyInAnyOrder("ep.device", "ep.gpu.sms");
        assertThat(given(0, 11)).containsExactlyInAnyOrder("ep.device", "ep.gpu.low-latency.sms");
        assertThat(given(3, 11)).hasSize(3);
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
