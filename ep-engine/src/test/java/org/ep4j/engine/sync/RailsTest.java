package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.ep4j.BufferSize;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.engine.Engine;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class RailsTest {
    @Property(tries = 200)
    void rowsGoByTheTargetsIslandAndHaveARoomOfTheirOwn(
            @ForAll @Size(min = 1, max = 12) List<@IntRange(min = 0, max = 3) Integer> islands) {
        Rails rails = Rails.of(plan(islands));
        int most = 0;
        for (int via = 0; via < islands.size(); via++) {
            Set<Integer> slots = new HashSet<>();
            for (int source = 0; source < islands.size(); source++) {
                if (rails.via(source, via, Mask.NONE) == via) {
                    assertThat(slots.add(rails.slot(source, via))).isTrue();
                }
                most = Math.max(most, slots.size());
            }
            assertThat(slots).allMatch(slot -> slot >= 0 && slot < rails.mostSources());
        }
        assertThat(rails.mostSources()).isEqualTo(most);
        assertThat(rails.passes()).isEqualTo(most > 0);
        assertThat(rails.posted()).isEqualTo(Set.copyOf(islands).size() > 1);
        for (int source = 0; source < islands.size(); source++) {
            for (int target = 0; target < islands.size(); target++) {
                check(rails, islands, source, target);
            }
        }
    }

    private static void check(Rails rails, List<Integer> islands, int source, int target) {
        int via = rails.via(source, target, Mask.NONE);
        List<Integer> there = members(islands, islands.get(target));
        boolean alone = there.size() == 1 || islands.get(source).equals(islands.get(target));
        if (alone) {
            assertThat(via).isEqualTo(-1);
            return;
        }
        List<Integer> here = members(islands, islands.get(source));
        assertThat(via).isEqualTo(there.get(here.indexOf(source) % there.size()));
        assertThat(rails.via(source, target, Mask.of(Set.of(via)))).isEqualTo(-1);
    }

    private static List<Integer> members(List<Integer> islands, int island) {
        List<Integer> members = new ArrayList<>();
        for (int r = 0; r < islands.size(); r++) {
            if (islands.get(r) == island) {
                members.add(r);
            }
        }
        return members;
    }

    /** Ranks 0 and 1, and 1 and 2, map each other, 0 and 2 do not. */
    @Test
    void whereIslandsOverlapRowsGoStraight() {
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < 3; from++) {
            for (int to = 0; to < 3; to++) {
                paths.add(path(from, to, Math.abs(from - to) == 1));
            }
        }
        Rails rails = Rails.of(GroupPlan.of(profiles(3), paths));
        assertThat(rails.posted()).isTrue();
        assertThat(rails.mostSources()).isZero();
        assertThat(rails.via(0, 2, Mask.NONE)).isEqualTo(-1);
    }

    /** Rank 2 maps rank 1, which does not map it. */
    @Test
    void whereRanksMapEachOtherOneWayAloneRowsGoStraight() {
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < 3; from++) {
            for (int to = 0; to < 3; to++) {
                paths.add(path(from, to, (from == 0 && to == 1) || (from == 1 && to == 0) || (from == 2 && to == 1)));
            }
        }
        Rails rails = Rails.of(GroupPlan.of(profiles(3), paths));
        assertThat(rails.posted()).isTrue();
        assertThat(rails.passes()).isFalse();
    }

    @Test
    void sizesOfBuffersHoldForThePlan() {
        EpShape shape =
                EpShape.builder(64, 8, 2).maxTokens(16).maxLowLatencyTokens(4).build();
        Engine engine = new Engine();
        BufferSize allMapped = engine.bufferSize(shape, 4, 0);
        assertThat(engine.bufferSize(shape, plan(List.of(0, 0, 0, 0)), 0)).isEqualTo(allMapped);
        BufferSize straight = engine.bufferSize(shape, plan(List.of(0, 1, 2, 3)), 0);
        assertThat(straight.symmetricBytes()).isGreaterThan(allMapped.symmetricBytes());
        BufferSize passedOn = engine.bufferSize(shape, plan(List.of(0, 0, 1, 1)), 0);
        assertThat(passedOn.symmetricBytes()).isGreaterThan(straight.symmetricBytes());
    }

    static GroupPlan plan(List<Integer> islands) {
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < islands.size(); from++) {
            for (int to = 0; to < islands.size(); to++) {
                paths.add(path(from, to, islands.get(from).equals(islands.get(to))));
            }
        }
        return GroupPlan.of(profiles(islands.size()), paths);
    }

    private static EpPath path(int from, int to, boolean mapped) {
        EpPath.Kind kind = from == to ? EpPath.Kind.LOCAL : mapped ? EpPath.Kind.MAPPED : EpPath.Kind.HOST_POSTED;
        String backend = from == to ? "local" : mapped ? "maps" : "posts";
        return EpPath.builder(from, to, backend, kind)
                .gigabytesPerSecond(1)
                .latencyMicros(1)
                .build();
    }

    private static List<RankProfile> profiles(int ranks) {
        List<RankProfile> profiles = new ArrayList<>();
        for (int r = 0; r < ranks; r++) {
            profiles.add(RankProfile.builder(r, "host-id", Device.HOST)
                    .hostName("host")
                    .pid(1)
                    .build());
        }
        return profiles;
    }
}
