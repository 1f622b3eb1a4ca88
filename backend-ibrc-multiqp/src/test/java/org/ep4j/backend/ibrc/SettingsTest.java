package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;
import org.ep4j.plan.Settings;
import org.ep4j.tck.writes.TwoRanks;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class SettingsTest {
    private static EpConfig environment(Map<String, String> variables) {
        return EpConfig.builder(Map.of(), variables).build();
    }

    @Test
    void variablesOfOtherSoftwareAreRead() {
        EpConfig config = environment(Map.of(
                "NVSHMEM_IB_MAX_TRANSPORT_EP_COUNT", "4",
                "NCCL_IB_TIMEOUT", "20",
                "NCCL_IB_RETRY_CNT", "5",
                "NVSHMEM_IB_ENABLE_RELAXED_ORDERING", "0"));
        assertThat(IbrcKeys.QUEUE_PAIRS.get(config)).isEqualTo(4);
        assertThat(IbrcKeys.TIMEOUT.get(config)).isEqualTo(20);
        assertThat(IbrcKeys.RETRIES.get(config)).isEqualTo(5);
        assertThat(IbrcKeys.RELAXED_ORDERING.get(config)).isFalse();
    }

    @Test
    void oneOfThirtyTwoOrOfAQuarterReportsCompletion() {
        LinkSettings settings = LinkSettings.from(environment(Map.of()));
        assertThat(settings.signalInterval(256)).isEqualTo(32);
        assertThat(settings.signalInterval(64)).isEqualTo(16);
        assertThat(settings.signalInterval(2)).isEqualTo(1);
    }

    @Test
    void aStripeOrPacketThatVerbsDoNotHaveIsRefusedWhereSettingsAreChecked() {
        assertThatThrownBy(() -> Settings.check(environment(Map.of("EP_IBRC_STRIPE", "64")), IbrcKeys.all()))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll("EP_IBRC_STRIPE", "64", "from 128 to 1GiB");
        assertThatThrownBy(() -> Settings.check(environment(Map.of("EP_IBRC_MTU", "1500")), IbrcKeys.all()))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContainingAll("EP_IBRC_MTU", "1500", "1024, 2048 or 4096");
        Settings.check(environment(Map.of("EP_IBRC_STRIPE", "1GiB", "EP_IBRC_MTU", "4096")), IbrcKeys.all());
    }

    @Test
    void whatBothEndsOfAQueuePairMustShareIsAgreed() {
        assertThat(IbrcKeys.all().stream().filter(ConfigKey::agreed)).contains(IbrcKeys.MTU, IbrcKeys.QUEUE_PAIRS);
    }

    @Test
    void bothEndsOfAPairComeToTheSamePorts() {
        EpConfig config = environment(Map.of());
        var plan = TwoRanks.plan(IbrcProvider.ID, Map.of(), List.of("a:1", "b:1"), List.of("c:1"), 6);
        Pairing first = Pairing.of(plan, 0, 1, config);
        Pairing second = Pairing.of(plan, 1, 0, config);
        assertThat(first.mine()).containsExactly("a:1", "b:1").isEqualTo(second.theirs());
        assertThat(first.theirs()).containsExactly("c:1", "c:1").isEqualTo(second.mine());
        assertThat(first.lanes()).isEqualTo(6).isEqualTo(second.lanes());
        Pairing one = Pairing.of(plan, 0, 1, environment(Map.of("EP_IBRC_PORTS", "1", "EP_IBRC_QUEUE_PAIRS", "5")));
        assertThat(one.mine()).containsExactly("a:1");
        assertThat(one.lanes()).isEqualTo(5);
    }
}
