package org.ep4j.plan.offer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.plan.Settings;
import org.ep4j.topology.NicFamily;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("verify")
final class FlowLimitsTest {
    private static EpConfig environment(Map<String, String> variables) {
        return EpConfig.builder(Map.of(), variables).build();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "BNXT | 1572864 | 1.5 MiB, 32 writes of high throughput, 1024 of low latency (Broadcom Thor-2)",
                "IONIC | 2097152 | 2.0 MiB, 32 writes of high throughput, 1024 of low latency (AMD Pollara)"
            })
    void nicsThatFailBeyondLimitsHaveThem(NicFamily family, long bytes, String text) {
        FlowLimits limits = FlowLimits.of(family);
        assertThat(limits.bytes()).isEqualTo(bytes);
        assertThat(limits.text()).isEqualTo(text);
    }

    @ParameterizedTest
    @EnumSource(
            value = NicFamily.class,
            mode = EnumSource.Mode.EXCLUDE,
            names = {"BNXT", "IONIC", "EFA"})
    void othersHaveNone(NicFamily family) {
        assertThat(FlowLimits.of(family).none()).isTrue();
        assertThat(FlowLimits.of(family).text()).isEqualTo("no limit");
    }

    @Test
    void theAdviceOfUcclGivesTheLimitsThatAreKnown() {
        EpConfig config = environment(Map.of(
                "UCCL_IB_MAX_INFLIGHT_BYTES", "1572864",
                "UCCL_IB_MAX_INFLIGHT_NORMAL", "1",
                "UCCL_IB_MAX_INFLIGHT_LOW_LATENCY", "32"));
        FlowLimits known = FlowLimits.of(NicFamily.BNXT);
        FlowLimits set = FlowLimits.NONE.with(config);
        assertThat(set).usingRecursiveComparison().ignoringFields("source").isEqualTo(known);
        assertThat(set.source())
                .isEqualTo("UCCL_IB_MAX_INFLIGHT_BYTES, UCCL_IB_MAX_INFLIGHT_NORMAL, UCCL_IB_MAX_INFLIGHT_LOW_LATENCY");
    }

    @Test
    void settingsComeBeforeWhatIsKnownOfTheNicAndSayWhereTheyAreFrom() {
        EpConfig config = environment(Map.of("EP_NIC_MAX_INFLIGHT_BYTES", "512KiB", "UCCL_IB_MAX_INFLIGHT_BYTES", "1"));
        FlowLimits limits = FlowLimits.of(NicFamily.IONIC).with(config);
        assertThat(limits).isEqualTo(new FlowLimits(512 << 10, 32, 1024, "AMD Pollara, ep.nic.max-inflight-bytes"));
        assertThat(limits.text())
                .isEqualTo("512.0 KiB, 32 writes of high throughput, 1024 of low latency"
                        + " (AMD Pollara, ep.nic.max-inflight-bytes)");
        // A profile carries them to the other ranks, which plan with them.
        Map<String, String> profile = Settings.ofRank(config, Settings.INFLIGHT);
        assertThat(FlowLimits.of(NicFamily.IONIC).with(profile)).isEqualTo(limits);
    }

    @Test
    void oneWriteIsNotPlural() {
        assertThat(FlowLimits.NONE
                        .with(environment(Map.of("EP_NIC_MAX_INFLIGHT_MESSAGES", "1")))
                        .text())
                .isEqualTo("1 write of low latency (ep.nic.max-inflight-messages)");
    }

    @Test
    void aMalformedLimitIsNamedWithItsVariable() {
        EpConfig config = environment(Map.of("UCCL_IB_MAX_INFLIGHT_NORMAL", "many"));
        assertThatThrownBy(() -> FlowLimits.NONE.with(config))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll("UCCL_IB_MAX_INFLIGHT_NORMAL", "many", "ep.nic.max-inflight-writes");
    }
}
