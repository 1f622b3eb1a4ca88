package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.OpOptions;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** All kernels that can wait at once on one GPU have room at once. */
@Tag("verify")
final class MultiprocessorsTest {
    private static final EpShape BOTH =
            EpShape.builder(64, 8, 2).maxTokens(8).maxLowLatencyTokens(8).build();
    private static final EpShape HIGH = EpShape.builder(64, 8, 2).maxTokens(8).build();
    private static final EpConfig DEFAULT = EpConfig.builder().build();

    @BeforeEach
    void needsTheEmulator() {
        EmulatedGpu.require();
    }

    private static Multiprocessors open(EpConfig config, EngineGpu device, EpShape shape) {
        return Multiprocessors.of(config, device, shape, group("host", "host"), 0);
    }

    private static List<RankProfile> group(String... hosts) {
        List<RankProfile> profiles = new ArrayList<>();
        for (String host : hosts) {
            profiles.add(RankProfile.builder(profiles.size(), host, Device.HOST)
                    .pid(1)
                    .build());
        }
        return profiles;
    }

    private static RankProfile onGpu(int rank, String host, long pid, int gpu) {
        Locality place = Locality.builder()
                .gpu(gpu)
                .vendor(GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .gpus(8)
                .build();
        return RankProfile.builder(rank, host, Device.parse("cuda:" + gpu))
                .pid(pid)
                .locality(place)
                .build();
    }

    private static int most(Multiprocessors processors) {
        return Math.max(processors.highThroughput(), processors.lowLatency());
    }

    @Test
    void oneBufferHasTheGpu() {
        try (EngineGpu device = EmulatedGpu.open(7);
                Multiprocessors one = open(DEFAULT, device, BOTH)) {
            one.use();
            assertThat(one.isAlone()).isTrue();
            assertThat(one.lowLatency()).isEqualTo(device.info().multiprocessors());
        }
    }

    @Test
    void buffersOfOneGpuShareItWhateverDeviceOpenedThem() {
        try (EngineGpu device = EmulatedGpu.open(7);
                EngineGpu again = EmulatedGpu.open(7);
                EngineGpu other = EmulatedGpu.open(6);
                Multiprocessors elsewhere = open(DEFAULT, other, BOTH)) {
            List<Multiprocessors> open = new ArrayList<>();
            for (int i = 1; i <= device.info().multiprocessors(); i++) {
                open.add(open(DEFAULT, i % 2 == 0 ? device : again, BOTH));
                assertThat(open).allMatch(p -> most(p) >= 1);
                assertThat(open.stream().mapToInt(MultiprocessorsTest::most).sum())
                        .as("blocks of %d buffers", i)
                        .isLessThanOrEqualTo(device.info().multiprocessors());
                boolean first = i == 1;
                assertThat(open).allMatch(p -> p.isAlone() == first);
            }
            assertThat(elsewhere.isAlone()).isTrue();
            open.subList(1, open.size()).forEach(Multiprocessors::close);
            assertThat(open.get(0).isAlone()).isTrue();
            assertThat(open.get(0).lowLatency()).isEqualTo(device.info().multiprocessors());
            open.get(0).close();
        }
    }

    /** Ranks 0 and 1 have GPU 3 of one host, rank 2 has it too, in the process of rank 0; rank 3 has another one, rank 4 another host. */
    @Test
    void ranksInOtherProcessesGetTheirPart() {
        List<RankProfile> group = new ArrayList<>();
        group.add(onGpu(0, "a", 1, 3));
        group.add(onGpu(1, "a", 2, 3));
        group.add(onGpu(2, "a", 1, 3));
        group.add(onGpu(3, "a", 3, 4));
        group.add(onGpu(4, "b", 4, 3));
        try (EngineGpu device = EmulatedGpu.open(7)) {
            int all = device.info().multiprocessors();
            try (Multiprocessors first = Multiprocessors.of(DEFAULT, device, BOTH, group, 0)) {
                assertThat(first.lowLatency()).isEqualTo(all / 2);
                assertThat(first.isAlone()).isFalse();
                try (Multiprocessors third = Multiprocessors.of(DEFAULT, device, BOTH, group, 2)) {
                    assertThat(first.lowLatency() + third.lowLatency()).isLessThanOrEqualTo(all / 2);
                }
            }
            try (Multiprocessors second = Multiprocessors.of(DEFAULT, device, BOTH, group, 1)) {
                assertThat(second.lowLatency()).isEqualTo(all / 3);
            }
            for (int rank : new int[] {3, 4}) {
                try (Multiprocessors other = Multiprocessors.of(DEFAULT, device, BOTH, group, rank)) {
                    assertThat(other.lowLatency()).isEqualTo(all);
                    assertThat(other.isAlone()).isTrue();
                }
            }
        }
    }

    @Test
    void highThroughputTakesRoomFromItsFirstOperationOn() {
        try (EngineGpu device = EmulatedGpu.open(7);
                Multiprocessors both = open(DEFAULT, device, BOTH);
                Multiprocessors high = open(DEFAULT, device, HIGH)) {
            assertThat(both.isAlone()).isTrue();
            assertThat(both.lowLatency()).isEqualTo(device.info().multiprocessors());
            high.use();
            assertThat(both.isAlone()).isFalse();
            assertThat(both.lowLatency() + high.highThroughput())
                    .isEqualTo(device.info().multiprocessors());
        }
    }

    @Test
    void ranksOfOneGroupShareDefaultStreamsWhateverConnectsThem() {
        try (EngineGpu device = EmulatedGpu.open(7);
                Multiprocessors first = Multiprocessors.of(DEFAULT, device, BOTH, group("a", "b"), 0);
                Multiprocessors sameRank = Multiprocessors.of(DEFAULT, device, BOTH, group("a", "b"), 0);
                Multiprocessors otherGroup = Multiprocessors.of(DEFAULT, device, BOTH, group("a", "c"), 1)) {
            assertThat(List.of(first, sameRank, otherGroup)).noneMatch(p -> p.ranksShare(0));
            try (Multiprocessors second = Multiprocessors.of(DEFAULT, device, BOTH, group("a", "b"), 1)) {
                assertThat(List.of(first, sameRank, second)).allSatisfy(p -> {
                    assertThat(p.ranksShare(0)).isTrue();
                    assertThatThrownBy(() -> p.requireOwn(0)).isInstanceOf(EpStateException.class);
                    p.requireOwn(0x1000);
                });
                otherGroup.requireOwn(0);
                assertThat(otherGroup.ranksShare(0)).isFalse();
                assertThat(first.ranksShare(0x1000)).isFalse();
            }
            assertThat(first.ranksShare(0)).isFalse();
        }
    }

    @Test
    void numbersThatTheUserSetAreKept() {
        EpConfig asked = EpConfig.builder()
                .set(EpKeys.GPU_SMS.name(), "3")
                .set(EpKeys.LOW_LATENCY_SMS.name(), "11")
                .build();
        try (EngineGpu device = EmulatedGpu.open(7);
                Multiprocessors one = open(asked, device, BOTH);
                Multiprocessors two = open(DEFAULT, device, BOTH)) {
            assertThat(one.highThroughput()).isEqualTo(3);
            assertThat(one.lowLatency()).isEqualTo(11);
            assertThat(two.lowLatency()).isEqualTo(device.info().multiprocessors() / 2);
        }
    }

    @Test
    void bufferSizeReportsTheMultiprocessors() {
        EpConfig asked = EpConfig.builder(Map.of(), Map.of())
                .set(EpKeys.DEVICE.name(), EmulatedGpu.TYPE + ":7")
                .set(EpKeys.GPU_SMS.name(), "3")
                .build();
        try (EpGroup group = EpGroup.join(Bootstrap.inProcess(1).get(0), asked);
                EpBuffer buffer = group.createBuffer(BOTH)) {
            int all = GpuDevice.of(group.device()).info().multiprocessors();
            for (EpBuffer view : List.of(buffer, buffer.withOptions(OpOptions.DEFAULT.asynchronous()))) {
                assertThat(view.size().highThroughputSms()).isEqualTo(3);
                assertThat(view.size().lowLatencySms()).isEqualTo(all);
            }
        }
    }
}
