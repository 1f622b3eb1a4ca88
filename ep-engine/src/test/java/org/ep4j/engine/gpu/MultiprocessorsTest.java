package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.Bootstrap;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuInfo;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

    /** A configuration in which both numbers were measured. */
    private static EpConfig tuned(int highThroughput, int lowLatency) {
        Map<String, String> numbers = Map.of(
                EpKeys.GPU_SMS.name(),
                Integer.toString(highThroughput),
                EpKeys.LOW_LATENCY_SMS.name(),
                Integer.toString(lowLatency));
        return EpConfig.builder(Map.of(), Map.of()).build().withTuned(numbers, "measured");
    }

    private static EpConfig asked(int highThroughput, int lowLatency) {
        return EpConfig.builder(Map.of(), Map.of())
                .set(EpKeys.GPU_SMS.name(), highThroughput)
                .set(EpKeys.LOW_LATENCY_SMS.name(), lowLatency)
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
    void tunedNumbersAreUsedByABufferThatHasTheGpu() {
        try (EngineGpu device = EmulatedGpu.open(7)) {
            int all = device.info().multiprocessors();
            try (Multiprocessors one = open(tuned(5, 11), device, BOTH)) {
                assertThat(one.highThroughput()).isEqualTo(5);
                assertThat(one.lowLatency()).isEqualTo(11);
                assertThat(one.isAlone()).isTrue();
            }
            try (Multiprocessors one = open(tuned(all + 1, all + 1), device, BOTH)) {
                assertThat(one.highThroughput()).isEqualTo(all);
                assertThat(one.lowLatency()).isEqualTo(all);
            }
            try (EngineGpu other = EmulatedGpu.open(6);
                    Multiprocessors one = open(tuned(0, 0), device, BOTH);
                    Multiprocessors untuned = open(DEFAULT, other, BOTH)) {
                assertThat(one.highThroughput()).isEqualTo(untuned.highThroughput());
                assertThat(one.lowLatency()).isEqualTo(untuned.lowLatency());
            }
        }
    }

    @Test
    void tunedNumbersAreLimitedToTheShareOfTheBuffer() {
        try (EngineGpu device = EmulatedGpu.open(7);
                Multiprocessors one = open(tuned(12, 11), device, BOTH)) {
            int all = device.info().multiprocessors();
            try (Multiprocessors two = open(DEFAULT, device, BOTH)) {
                assertThat(one.highThroughput()).isEqualTo(Math.min(12, all / 2));
                assertThat(one.lowLatency()).isEqualTo(Math.min(11, all / 2));
                assertThat(two.lowLatency()).isEqualTo(all / 2);
            }
            assertThat(one.highThroughput()).isEqualTo(12);
            assertThat(one.lowLatency()).isEqualTo(11);
            try (Multiprocessors small = open(tuned(1, 2), device, BOTH)) {
                assertThat(small.highThroughput()).isEqualTo(1);
                assertThat(small.lowLatency()).isEqualTo(2);
            }
        }
    }

    /** Low latency of the others has the room that is left. */
    @Test
    void aTunedNumberTakesItsRoomFromTheOtherBuffers() {
        try (EngineGpu device = EmulatedGpu.open(7);
                Multiprocessors both = open(DEFAULT, device, BOTH);
                Multiprocessors high = open(tuned(7, 0), device, HIGH)) {
            int all = device.info().multiprocessors();
            assertThat(both.lowLatency()).isEqualTo(all);
            high.use();
            assertThat(high.highThroughput()).isEqualTo(7);
            assertThat(both.lowLatency()).isEqualTo(all - 7);
        }
    }

    @Test
    void buffersWithTunedNumbersAllHaveRoomAtOnce() {
        try (EngineGpu device = EmulatedGpu.open(7)) {
            int all = device.info().multiprocessors();
            for (int number = 1; number <= all; number++) {
                List<Multiprocessors> open = new ArrayList<>();
                for (EpShape shape : List.of(BOTH, HIGH, BOTH, HIGH)) {
                    // The first one of each shape has tuned numbers.
                    open.add(open(open.size() < 2 ? tuned(number, number) : DEFAULT, device, shape));
                    open.forEach(Multiprocessors::use);
                    assertThat(open).allMatch(p -> p.highThroughput() >= 1 && p.lowLatency() >= 1);
                    // Without low latency, that number is not used.
                    int blocks = 0;
                    for (int i = 0; i < open.size(); i++) {
                        blocks += i % 2 == 0 ? most(open.get(i)) : open.get(i).highThroughput();
                    }
                    assertThat(blocks)
                            .as("blocks of %d buffers, tuned to %d", open.size(), number)
                            .isLessThanOrEqualTo(all);
                }
                open.forEach(Multiprocessors::close);
            }
        }
    }

    @Test
    void tunedNumbersLeaveRoomForOtherProcessesAndNumbersOfTheUserNeedNot() {
        List<RankProfile> group = List.of(onGpu(0, "a", 1, 3), onGpu(1, "a", 2, 3));
        try (EngineGpu device = EmulatedGpu.open(7)) {
            int all = device.info().multiprocessors();
            int many = all - 1;
            try (Multiprocessors one = Multiprocessors.of(tuned(many, many), device, BOTH, group, 0)) {
                assertThat(one.highThroughput()).isEqualTo(all / 2);
                assertThat(one.lowLatency()).isEqualTo(all / 2);
            }
            try (Multiprocessors one = Multiprocessors.of(asked(many, many), device, BOTH, group, 0)) {
                assertThat(one.highThroughput()).isEqualTo(many);
                assertThat(one.lowLatency()).isEqualTo(many);
            }
        }
    }

    /** A group with another process on the GPU, and one without, in this process. */
    @Test
    void buffersOfTwoGroupsTogetherLeaveRoomForTheOtherProcess() {
        List<RankProfile> shared = List.of(onGpu(0, "a", 1, 3), onGpu(1, "a", 2, 3));
        try (EngineGpu device = EmulatedGpu.open(7)) {
            int all = device.info().multiprocessors();
            int half = all / 2;
            for (EpConfig config : List.of(DEFAULT, tuned(all, all))) {
                try (Multiprocessors own = open(config, device, BOTH)) {
                    assertThat(own.lowLatency()).isEqualTo(all);
                    try (Multiprocessors other = Multiprocessors.of(config, device, BOTH, shared, 0)) {
                        assertThat(List.of(own, other)).allSatisfy(p -> {
                            assertThat(p.lowLatency()).isEqualTo(half / 2);
                            assertThat(p.highThroughput()).isLessThanOrEqualTo(half / 2);
                        });
                    }
                    assertThat(own.lowLatency()).as("alone again").isEqualTo(all);
                    assertThat(own.isAlone()).isTrue();
                }
            }
            try (Multiprocessors other = Multiprocessors.of(DEFAULT, device, BOTH, shared, 0);
                    Multiprocessors high = open(tuned(all, 0), device, HIGH)) {
                assertThat(other.lowLatency()).isEqualTo(half);
                high.use();
                assertThat(high.highThroughput()).isEqualTo(half / 2);
                assertThat(other.lowLatency()).isEqualTo(half - half / 2);
            }
        }
    }

    private static EpGroup alone(EpConfig config) {
        return EpGroup.join(Bootstrap.inProcess(1).get(0), config);
    }

    @Test
    void aBufferOfAMeasuredShapeHasTheNumbersOfTheFile(@TempDir Path folder) {
        EpConfig config = EpConfig.builder(Map.of(), Map.of("EP_CACHE_DIR", folder.toString()))
                .set(EpKeys.DEVICE.name(), EmulatedGpu.TYPE + ":7")
                .build();
        int all;
        try (EpGroup group = alone(config)) {
            GpuInfo info = GpuDevice.of(group.device()).info();
            all = info.multiprocessors();
            Fingerprint here = Fingerprint.ofGpu(GroupPlan.of(group.plan()), 0, info.architecture(), all);
            List<Choice> choices = List.of(
                    new Choice(EpKeys.GPU_SMS.name(), "5", "for a test"),
                    new Choice(EpKeys.LOW_LATENCY_SMS.name(), "11", "for a test"));
            new TunedSettings(here, TunedSettings.Shape.of(BOTH), choices, "2026-11-30", "test").write(folder);
        }
        try (EpGroup group = alone(config);
                EpBuffer buffer = group.createBuffer(BOTH)) {
            assertThat(GroupPlan.of(group.plan()).notes()).hasSize(1);
            assertThat(buffer.size().highThroughputSms()).isEqualTo(5);
            assertThat(buffer.size().lowLatencySms()).isEqualTo(11);
        }
        EpConfig explicit = config.toBuilder().set(EpKeys.GPU_SMS.name(), "3").build();
        try (EpGroup group = alone(explicit);
                EpBuffer buffer = group.createBuffer(BOTH)) {
            assertThat(buffer.size().highThroughputSms()).isEqualTo(3);
            assertThat(buffer.size().lowLatencySms()).isEqualTo(11);
        }
        EpConfig off = config.toBuilder().set(EpKeys.TUNE.name(), "off").build();
        try (EpGroup group = alone(off);
                EpBuffer buffer = group.createBuffer(BOTH)) {
            assertThat(buffer.size().highThroughputSms()).isNotEqualTo(5);
            assertThat(buffer.size().lowLatencySms()).isEqualTo(all);
        }
    }

    @Test
    void anOperationHasAtMostAllMultiprocessors() {
        EpConfig asked = EpConfig.builder(Map.of(), Map.of())
                .set(EpKeys.DEVICE.name(), EmulatedGpu.TYPE + ":7")
                .build();
        try (EpGroup group = alone(asked);
                EpBuffer buffer = group.createBuffer(BOTH);
                TensorArena arena = group.device().arena()) {
            int all = GpuDevice.of(group.device()).info().multiprocessors();
            Tensor x = arena.tensor(DataType.BF16, 3, 64);
            Tensor ids = arena.tensor(DataType.INT32, 3, 2);
            EpBuffer most = buffer.withOptions(OpOptions.DEFAULT.multiprocessors(all));
            EpBuffer more = buffer.withOptions(OpOptions.DEFAULT.multiprocessors(all + 1));
            String message = "multiprocessors is " + (all + 1) + ", must be in [1, " + all
                    + "], the multiprocessors of " + group.device().id();
            assertThatThrownBy(() -> more.dispatch(x, ids))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining(message);
            assertThatThrownBy(() -> more.lowLatencyDispatch(x, ids))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining(message);
            assertThat(most.dispatch(x, ids).rows()).isEqualTo(3);
            assertThat(most.lowLatencyDispatch(x, ids).event().isDone()).isTrue();
            assertThat(most.size().lowLatencySms()).isEqualTo(all);
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
