package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.BiFunction;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class UsablePathsTest {
    @Test
    void refusesGpusThatReachEachOtherInTwoWays() {
        GroupPlan plan = plan(3, "cuda", (from, to) -> from < to ? EpPath.Kind.MAPPED : EpPath.Kind.HOST_POSTED);
        assertThatThrownBy(() -> UsablePaths.check(plan))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining(
                        "by HOST_POSTED over host_posted, but the path in the opposite direction is MAPPED over mapped")
                .hasMessageContaining("ep.backend.exclude");
    }

    @Test
    void refusesGpusThatPostToEachOtherInTwoWays() {
        GroupPlan plan = plan(2, "cuda", (from, to) -> from < to ? EpPath.Kind.DEVICE_POSTED : EpPath.Kind.HOST_POSTED);
        assertThatThrownBy(() -> UsablePaths.check(plan))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("GPUs need the same kind of path in both directions");
    }

    @Test
    void takesAGpuThatMapsOnePeerAndPostsToOthersInBothWays() {
        List<EpPath.Kind> kinds =
                List.of(EpPath.Kind.MAPPED, EpPath.Kind.DEVICE_POSTED, EpPath.Kind.HOST_POSTED, EpPath.Kind.MAPPED);
        GroupPlan plan = plan(4, "cuda", (from, to) -> kinds.get((from + to) % 4));
        assertThatCode(() -> UsablePaths.check(plan)).doesNotThrowAnyException();
    }

    @Test
    void takesHostsThatReachEachOtherInTwoWays() {
        GroupPlan plan = plan(3, "host", (from, to) -> from < to ? EpPath.Kind.MAPPED : EpPath.Kind.HOST_POSTED);
        assertThatCode(() -> UsablePaths.check(plan)).doesNotThrowAnyException();
    }

    private static GroupPlan plan(int ranks, String device, BiFunction<Integer, Integer, EpPath.Kind> kinds) {
        List<RankProfile> profiles = new ArrayList<>();
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < ranks; from++) {
            profiles.add(RankProfile.builder(from, "host-id", new Device(device, from))
                    .hostName("host")
                    .pid(1)
                    .build());
            for (int to = 0; to < ranks; to++) {
                EpPath.Kind kind = from == to ? EpPath.Kind.LOCAL : kinds.apply(from, to);
                String backend = kind.name().toLowerCase(Locale.ROOT);
                paths.add(EpPath.builder(from, to, backend, kind)
                        .gigabytesPerSecond(1)
                        .latencyMicros(1)
                        .build());
            }
        }
        return GroupPlan.of(profiles, paths);
    }
}
