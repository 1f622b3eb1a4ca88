package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.ep4j.Device;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Rails;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PairPath;
import org.ep4j.plan.PathKind;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.PathOffer;
import org.junit.jupiter.api.Test;

class PostedPathsTest {
    private static final EpShape SHAPE =
            EpShape.builder(64, 9, 2).maxTokens(3).maxLowLatencyTokens(2).build();

    @Test
    void whoMapsAllNeedsNone() {
        assertThat(layout(plan(4, (from, to) -> true))).isEmpty();
    }

    /** The rank with the most remote peers decides, so that all ranks have the same. */
    @Property(tries = 100)
    void thereAreChannelsForTheMostPeersOfARank(
            @ForAll @Size(min = 2, max = 9) List<@IntRange(min = 0, max = 3) Integer> islands) {
        EpPlan plan = plan(islands.size(), (from, to) -> islands.get(from).equals(islands.get(to)));
        int most = 0;
        for (int r = 0; r < islands.size(); r++) {
            int island = islands.get(r);
            List<Integer> others = IntStream.range(0, islands.size())
                    .filter(peer -> islands.get(peer) != island)
                    .boxed()
                    .toList();
            assertThat(PostedPaths.of(plan).to(r, PathKind.HOST_POSTED)).isEqualTo(others);
            assertThat(PostedPaths.of(plan).from(r, PathKind.HOST_POSTED)).isEqualTo(others);
            most = Math.max(most, others.size());
        }
        int channels = most;
        boolean rails = Set.copyOf(islands).size() < islands.size();
        assertThat(layout(plan).map(WindowLayout::bytes))
                .isEqualTo(Optional.of(new WindowLayout(SHAPE, islands.size(), channels, rails).bytes())
                        .filter(bytes -> channels > 0));
    }

    /** Kernels look up how a peer is reached only where there are paths of several kinds. */
    @Property(tries = 100)
    void onlyPathsOfSeveralKindsAreLookedUp(
            @ForAll @Size(min = 9, max = 9) List<@IntRange(min = 0, max = 2) Integer> drawn) {
        PathKind[] kinds = {PathKind.MAPPED, PathKind.HOST_POSTED, PathKind.DEVICE_POSTED};
        BiFunction<Integer, Integer, PathKind> kind = (from, to) -> kinds[drawn.get(3 * from + to)];
        PostedPaths paths = PostedPaths.of(of(3, kind));
        Set<PathKind> posted = EnumSet.noneOf(PathKind.class);
        boolean oneWay = false;
        for (int from = 0; from < 3; from++) {
            for (int to = 0; to < 3; to++) {
                if (from != to && kind.apply(from, to) != PathKind.MAPPED) {
                    posted.add(kind.apply(from, to));
                    oneWay |= kind.apply(to, from) == PathKind.MAPPED;
                }
            }
        }
        assertThat(paths.any()).isEqualTo(!posted.isEmpty());
        assertThat(paths.mixed()).isEqualTo(posted.size() > 1 || oneWay);
    }

    /** The rank that a channel writes to has the window that holds it, and no two channels share memory. */
    @Property(tries = 200)
    void everyDirectionHasAChannelOfItsOwn(
            @ForAll @Size(min = 16, max = 16) List<@IntRange(min = 0, max = 2) Integer> drawn) {
        PathKind[] kinds = {PathKind.MAPPED, PathKind.HOST_POSTED, PathKind.DEVICE_POSTED};
        EpPlan plan = of(4, (from, to) -> kinds[drawn.get(4 * from + to)]);
        PostedPaths paths = PostedPaths.of(plan);
        Optional<WindowLayout> layout = layout(plan);
        for (int from = 0; from < 4; from++) {
            for (int to = 0; to < 4; to++) {
                if (!paths.isPosted(from, to)) {
                    continue;
                }
                PathKind kind = paths.isByDevice(from, to) ? PathKind.DEVICE_POSTED : PathKind.HOST_POSTED;
                assertThat(paths.to(from, kind).indexOf(to))
                        .isBetween(0, layout.orElseThrow().channels() - 1);
                assertThat(paths.from(to, kind).indexOf(from))
                        .isBetween(0, layout.orElseThrow().channels() - 1);
                boolean byDevice = paths.isByDevice(from, to);
                for (int end : new int[] {from, to}) {
                    assertThat(byDevice ? paths.hasDeviceWindow(end) : paths.hasHostWindow(end))
                            .as("window of rank " + end)
                            .isTrue();
                }
                assertThat(paths.placesAmongSources(from, kind)[to])
                        .isEqualTo(paths.from(to, kind).indexOf(from));
                assertThat(paths.placesAmongGivers(to)[from])
                        .isEqualTo(paths.givers(from).indexOf(to));
                assertThat(paths.givers(from).contains(to))
                        .isEqualTo(kinds[drawn.get(4 * to + from)] == PathKind.MAPPED);
            }
        }
    }

    private static Optional<WindowLayout> layout(EpPlan plan) {
        return PostedPaths.of(plan).layout(SHAPE, Rails.of(plan));
    }

    private static EpPlan plan(int ranks, BiPredicate<Integer, Integer> maps) {
        return of(ranks, (from, to) -> maps.test(from, to) ? PathKind.MAPPED : PathKind.HOST_POSTED);
    }

    private static EpPlan of(int ranks, BiFunction<Integer, Integer, PathKind> kinds) {
        List<RankProfile> profiles = new ArrayList<>();
        List<PairPath> paths = new ArrayList<>();
        for (int from = 0; from < ranks; from++) {
            profiles.add(new RankProfile(from, "host-id", "host", 1, Device.HOST, Map.of(), Map.of()));
            for (int to = 0; to < ranks; to++) {
                PathKind kind = from == to ? PathKind.LOCAL : kinds.apply(from, to);
                String backend = kind.name().toLowerCase(Locale.ROOT);
                paths.add(new PairPath(from, to, backend, new PathOffer(kind, 1, 1, List.of()), List.of()));
            }
        }
        return EpPlan.of(profiles, paths);
    }
}
