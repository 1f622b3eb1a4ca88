package org.ep4j.plan.offer;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.topology.NicFamily;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("verify")
final class FlowLimitsTest {
    @ParameterizedTest
    @CsvSource({"BNXT, 1572864, 1.5 MiB", "IONIC, 2097152, 2.0 MiB"})
    void nicsThatFailBeyondLimitsHaveThem(NicFamily family, long bytes, String text) {
        FlowLimits limits = FlowLimits.of(family);
        assertThat(limits.strict()).isTrue();
        assertThat(limits.bytes()).isEqualTo(bytes);
        assertThat(limits.largeWrites()).isEqualTo(1);
        assertThat(limits.bytesText()).isEqualTo(text);
    }

    @ParameterizedTest
    @EnumSource(
            value = NicFamily.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"BNXT", "IONIC"})
    void othersAreNotStrict(NicFamily family) {
        FlowLimits limits = FlowLimits.of(family);
        assertThat(limits.strict()).isFalse();
        assertThat(limits.bytesText()).isEqualTo("any number of bytes");
        assertThat(limits.name()).isNotEmpty();
    }
}
