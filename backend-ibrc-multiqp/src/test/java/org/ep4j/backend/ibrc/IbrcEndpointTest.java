package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.EpResourceException;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.RankProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What is refused before a queue pair is made, and what memory is registered for. */
@Tag("verify")
class IbrcEndpointTest {
    @Test
    void aRankWithoutAPortIsNamed() {
        List<RankProfile> profiles = new ArrayList<>();
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < 2; from++) {
            profiles.add(RankProfile.builder(from, "host-id-" + from, Device.HOST)
                    .hostName("host-" + from)
                    .pid(1)
                    .build());
            for (int to = 0; to < 2; to++) {
                List<String> nics = from == 0 ? List.of("mlx5_0:1") : List.of();
                paths.add(
                        from == to
                                ? path(from, to, "local", EpPath.Kind.LOCAL, List.of())
                                : path(from, to, IbrcProvider.ID, EpPath.Kind.HOST_POSTED, nics));
            }
        }
        GroupPlan plan = GroupPlan.of(profiles, paths);
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        assertThatThrownBy(() -> Pairing.of(plan, 0, 1, config))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll("rank 1", "no NIC", "ep.nic.include");
    }

    private static EpPath path(int from, int to, String backend, EpPath.Kind kind, List<String> nics) {
        return EpPath.builder(from, to, backend, kind)
                .nics(nics)
                .gigabytesPerSecond(1)
                .latencyMicros(1)
                .build();
    }

    @Test
    void moreQueuePairsThanADeviceHasAreRefusedWithTheLimit() {
        IbrcEndpoint.checkQueuePairs("mlx5_0", 1024, 1024);
        assertThatThrownBy(() -> IbrcEndpoint.checkQueuePairs("mlx5_0", 1025, 1024))
                .isInstanceOf(EpResourceException.class)
                .hasMessageContainingAll("1025", "mlx5_0", "1024", "ep.ibrc.queue-pairs", "ep.lanes");
    }

    @Test
    void dataIsRegisteredForWritesAlone() {
        for (String device : List.of("host", "cuda:0")) {
            assertThat(IbrcEndpoint.dataAccess(false, memory(device))).isEqualTo(Access.DATA);
            assertThat(IbrcEndpoint.dataAccess(true, memory(device))).isEqualTo(Access.RELAXED_DATA);
        }
        int readOrAtomic = 4 | 8;
        int relaxed = 1 << 20;
        assertThat(Access.DATA.flags() & (readOrAtomic | relaxed)).isZero();
        assertThat(Access.RELAXED_DATA.flags()).isEqualTo(Access.DATA.flags() | relaxed);
    }

    /** In relaxed order one could pass the bytes before it. */
    @Test
    void countersAreWrittenInOrder() {
        int readOrAtomic = 4 | 8;
        assertThat(Access.WORDS.flags()).isEqualTo(Access.DATA.flags() | readOrAtomic);
    }

    /** What a store of the host to the GPU's register is to push must come in order. */
    @Test
    void memoryOfAmdGpusIsWrittenInOrder() {
        assertThat(IbrcEndpoint.dataAccess(true, memory("hip:0"))).isEqualTo(Access.DATA);
    }

    private static ExposedMemory memory(String device) {
        return ExposedMemory.of(DeviceMemory.of(4096, 4096, Device.parse(device)));
    }
}
