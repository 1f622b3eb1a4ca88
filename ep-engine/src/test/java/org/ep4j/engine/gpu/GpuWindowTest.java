package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Relays;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class GpuWindowTest {
    private static final EpShape SHAPE =
            EpShape.builder(64, 9, 2).maxTokens(3).maxLowLatencyTokens(2).build();

    @Test
    void noWindowIsNeededWhereAllPeersAreMapped() {
        assertThat(layout(plan(4, (from, to) -> true))).isEmpty();
    }

    /** The rank with the most remote peers decides, so that all ranks have the same. */
    @Property(tries = 100)
    void thereAreChannelsForTheMostPeersOfARank(
            @ForAll @Size(min = 2, max = 9) List<@IntRange(min = 0, max = 3) Integer> domains) {
        GroupPlan plan = plan(domains.size(), (from, to) -> domains.get(from).equals(domains.get(to)));
        int most = 0;
        for (int r = 0; r < domains.size(); r++) {
            int domain = domains.get(r);
            List<Integer> others = IntStream.range(0, domains.size())
                    .filter(peer -> domains.get(peer) != domain)
                    .boxed()
                    .toList();
            assertThat(GpuWindow.remotes(plan, r)).isEqualTo(others);
            for (int peer : others) {
                assertThat(GpuWindow.place(plan, peer, r))
                        .isEqualTo(GpuWindow.remotes(plan, peer).indexOf(r));
            }
            most = Math.max(most, others.size());
        }
        int channels = most;
        boolean relays = Set.copyOf(domains).size() < domains.size();
        assertThat(layout(plan).map(WindowLayout::bytes))
                .isEqualTo(Optional.of(WindowLayout.of(SHAPE, domains.size(), channels, relays)
                                .bytes())
                        .filter(bytes -> channels > 0));
    }

    private static Optional<WindowLayout> layout(GroupPlan plan) {
        return GpuWindow.layout(SHAPE, plan, Relays.of(plan));
    }

    private static GroupPlan plan(int ranks, BiPredicate<Integer, Integer> maps) {
        List<RankProfile> profiles = new ArrayList<>();
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < ranks; from++) {
            profiles.add(RankProfile.builder(from, "host-id", Device.HOST)
                    .hostName("host")
                    .pid(1)
                    .build());
            for (int to = 0; to < ranks; to++) {
                boolean mapped = maps.test(from, to);
                EpPath.Kind kind =
                        from == to ? EpPath.Kind.LOCAL : mapped ? EpPath.Kind.MAPPED : EpPath.Kind.HOST_POSTED;
                String backend = from == to ? "local" : mapped ? "maps" : "posts";
                paths.add(EpPath.builder(from, to, backend, kind)
                        .gigabytesPerSecond(1)
                        .latencyMicros(1)
                        .build());
            }
        }
        return GroupPlan.of(profiles, paths);
    }
}
