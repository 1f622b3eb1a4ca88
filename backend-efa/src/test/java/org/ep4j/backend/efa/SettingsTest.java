package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.topology.NicFamily;
import org.ep4j.transport.NicFlow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
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
        NicProfile profile = NicProfile.of(nic("0x1dd8"), config);
        assertThat(profile.limits().bytes()).isEqualTo(1 << 20);
        // UCCL limits each of the 32 fifos of a GPU.
        assertThat(profile.limits().writes()).isEqualTo(96);
        assertThat(profile.limits().messages()).isEqualTo(160);
        assertThat(EfaKeys.INTERFACE.get(config)).isEqualTo("eth1");
    }

    @Test
    void nicsThatTakeLittleAreKnownByTheirVendor() {
        EpConfig config = environment(Map.of());
        assertThat(NicProfile.of(nic("0x14e4"), config).limits()).isEqualTo(FlowLimits.of(NicFamily.BNXT));
        assertThat(NicProfile.of(nic("0x1dd8"), config).limits()).isEqualTo(FlowLimits.of(NicFamily.IONIC));
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
    void anEndpointHasRoomForWhatAnOnlyPeerMayHaveInFlight() {
        NicProfile usual = NicProfile.of(nic("0x1d0f"), environment(Map.of()));
        assertThat(usual.largeWrites()).isEqualTo(8);
        assertThat(usual.smallWrites()).isEqualTo(32);
        NicProfile few = NicProfile.of(
                nic("0x1d0f"),
                environment(Map.of("EP_NIC_MAX_INFLIGHT_WRITES", "3", "EP_NIC_MAX_INFLIGHT_MESSAGES", "5")));
        assertThat(few.largeWrites()).isEqualTo(8);
        assertThat(few.smallWrites()).isEqualTo(32);
        NicProfile many = NicProfile.of(nic("0x15b3"), environment(Map.of("EP_NIC_MAX_INFLIGHT_WRITES", "100000")));
        assertThat(many.largeWrites()).isEqualTo(256);
        assertThat(many.smallWrites()).isEqualTo(256);
        NicProfile messages = NicProfile.of(nic("0x15b3"), environment(Map.of("EP_NIC_MAX_INFLIGHT_MESSAGES", "100")));
        assertThat(messages.largeWrites()).isEqualTo(8);
        assertThat(messages.smallWrites()).isEqualTo(100);
    }

    @Test
    void whatBothEndsMustShareIsAgreed() {
        assertThat(EfaKeys.all().stream().filter(ConfigKey::agreed)).containsExactly(EfaKeys.PROVIDER);
    }

    private static Rail rail(int largeWrites, int smallWrites, int burst) {
        NicProfile profile = new NicProfile(FlowLimits.NONE, largeWrites, smallWrites, burst, Keys.WHOLE);
        return new Rail(0, "a", "a to b", 0, 0, Long.MAX_VALUE, new NicFlow(FlowLimits.NONE), profile);
    }

    @Test
    void largeAndSmallWritesHaveLimitsOfTheirOwnAndRecordsRoomBeside() {
        Rail rail = rail(1, 2, 100);
        int large = rail.take(Rail.LARGE, false);
        assertThat(large).isNotNegative();
        assertThat(rail.take(Rail.LARGE, false)).isEqualTo(-1);
        assertThat(rail.take(1, false)).isNotNegative();
        assertThat(rail.take(1, false)).isNotNegative();
        assertThat(rail.take(1, false)).isEqualTo(-1);
        int records = 0;
        while (rail.takeForRecord() >= 0) {
            records++;
        }
        assertThat(records).isPositive();
        assertThat(rail.takeBare()).isNotNegative();
        rail.give(large);
        assertThat(rail.take(Rail.LARGE, false)).isNotNegative();
    }

    @Test
    void aBurstEndsUntilCompletionsWereLookedAt() {
        Rail rail = rail(8, 8, 2);
        assertThat(rail.take(1, false)).isNotNegative();
        assertThat(rail.take(1, false)).isNotNegative();
        assertThat(rail.take(1, false)).isEqualTo(-1);
        rail.polled();
        assertThat(rail.take(1, false)).isNotNegative();
        assertThat(rail.pending()).isEqualTo(3);
    }
}
