package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.offer.FlowLimits;
import org.junit.jupiter.api.Test;

final class SettingsTest {
    private static EpConfig environment(Map<String, String> variables) {
        return EpConfig.builder(Map.of(), variables).build();
    }

    private static FabricInfo nic(String vendor) {
        return FabricInfo.parse(0, "provider=verbs;ofi_rxm\ndomain=nic\nvendor=" + vendor);
    }

    @Test
    void variablesOfUcclAreRead() {
        EpConfig config = environment(Map.of(
                "UCCL_IB_MAX_INFLIGHT_NORMAL", "3",
                "UCCL_IB_MAX_INFLIGHT_LOW_LATENCY", "5",
                "UCCL_IB_MAX_INFLIGHT_BYTES", "1048576",
                "UCCL_SOCKET_IFNAME", "eth1"));
        assertThat(NicProfile.of(nic("0x1dd8"), config)).isEqualTo(new NicProfile(1 << 20, 3, 5, 64, Keys.WHOLE));
        assertThat(config.get(EfaKeys.INTERFACE)).isEqualTo("eth1");
    }

    @Test
    void nicsThatTakeLittleAreKnownByTheirVendor() {
        EpConfig config = environment(Map.of());
        assertThat(NicProfile.of(nic("0x14e4"), config)).isEqualTo(new NicProfile(1572864, 1, 32, 64, Keys.WHOLE));
        assertThat(NicProfile.of(nic("0x1dd8"), config)).isEqualTo(new NicProfile(2097152, 1, 32, 64, Keys.WHOLE));
        assertThat(NicProfile.of(nic("0x1d0f"), config).burst()).isEqualTo(32);
        assertThat(NicProfile.of(nic("0x8086"), config).registrationChunk()).isEqualTo(1L << 30);
        assertThat(NicProfile.of(nic("0x15b3"), config)).isEqualTo(NicProfile.ANY);
        // What a NIC takes as RDMA does not limit sockets over it.
        for (String provider : new String[] {"tcp;ofi_rxm", "shm"}) {
            FabricInfo software = FabricInfo.parse(0, "provider=" + provider + "\ndomain=nic\nvendor=0x14e4");
            assertThat(NicProfile.of(software, config)).isEqualTo(NicProfile.SOFTWARE);
        }
    }

    @Test
    void whatBothEndsMustShareIsAgreed() {
        assertThat(EfaKeys.all().stream().filter(ConfigKey::agreed)).containsExactly(EfaKeys.PROVIDER);
    }

    @Test
    void aNicTakesNoMoreBytesThanItsLimitButForOneWrite() {
        NicFlow flow = new NicFlow(new FlowLimits("", 100, 0, 0));
        assertThat(flow.take(60)).isTrue();
        assertThat(flow.take(41)).isFalse();
        assertThat(flow.take(40)).isTrue();
        flow.give(60);
        flow.give(40);
        assertThat(flow.take(1000)).isTrue();
        assertThat(flow.take(1)).isFalse();
        assertThat(new NicFlow(new FlowLimits("", 0, 0, 0)).take(Long.MAX_VALUE))
                .isTrue();
    }

    @Test
    void largeAndSmallWritesHaveLimitsOfTheirOwnAndRecordsRoomBeside() {
        RailFlow flow = new RailFlow(new NicFlow(new FlowLimits("", 0, 1, 2)), RailFlow.slots(1, 2), 100);
        int large = flow.take(FlowLimits.LARGE);
        assertThat(large).isNotNegative();
        assertThat(flow.take(FlowLimits.LARGE)).isEqualTo(-1);
        assertThat(flow.take(1)).isNotNegative();
        assertThat(flow.take(1)).isNotNegative();
        assertThat(flow.take(1)).isEqualTo(-1);
        int records = 0;
        while (flow.takeForRecord() >= 0) {
            records++;
        }
        assertThat(records).isPositive();
        assertThat(flow.takeBare()).isNotNegative();
        flow.give(large);
        assertThat(flow.take(FlowLimits.LARGE)).isNotNegative();
    }

    /** As UCCL has them: of a GPU and a NIC, whatever the number of peers. */
    @Test
    void limitsAreSharedByAllPeersOnANic() {
        NicFlow nic = new NicFlow(new FlowLimits("", 0, 1, 2));
        RailFlow first = new RailFlow(nic, RailFlow.slots(1, 2), 100);
        RailFlow second = new RailFlow(nic, RailFlow.slots(1, 2), 100);
        int large = first.take(FlowLimits.LARGE);
        assertThat(second.take(FlowLimits.LARGE)).isEqualTo(-1);
        assertThat(first.take(7)).isNotNegative();
        assertThat(second.take(7)).isNotNegative();
        assertThat(second.take(7)).isEqualTo(-1);
        first.give(large);
        assertThat(second.take(FlowLimits.LARGE)).isNotNegative();
        // A peer that is lost holds nothing back.
        second.abandon();
        assertThat(first.take(FlowLimits.LARGE)).isNotNegative();
    }

    @Test
    void aBurstEndsUntilCompletionsWereLookedAt() {
        RailFlow flow = new RailFlow(new NicFlow(new FlowLimits("", 0, 8, 8)), RailFlow.slots(8, 8), 2);
        assertThat(flow.take(1)).isNotNegative();
        assertThat(flow.take(1)).isNotNegative();
        assertThat(flow.take(1)).isEqualTo(-1);
        flow.polled();
        assertThat(flow.take(1)).isNotNegative();
        assertThat(flow.pending()).isEqualTo(3);
    }
}
