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
class RelaysTest {
    @Property(tries = 200)
    void rowsPassARelayInTheTargetsDomainWithASlotPerSource(
            @ForAll @Size(min = 1, max = 12) List<@IntRange(min = 0, max = 3) Integer> domains) {
        Relays relays = Relays.of(plan(domains));
        int most = 0;
        for (int via = 0; via < domains.size(); via++) {
            Set<Integer> slots = new HashSet<>();
            for (int source = 0; source < domains.size(); source++) {
                if (relays.relay(source, via, Mask.NONE) == via) {
                    assertThat(slots.add(relays.sourceIndex(source, via))).isTrue();
                }
                most = Math.max(most, slots.size());
            }
            assertThat(slots).allMatch(slot -> slot >= 0 && slot < relays.maxSources());
        }
        assertThat(relays.maxSources()).isEqualTo(most);
        assertThat(relays.isUsed()).isEqualTo(most > 0);
        assertThat(relays.isPosted()).isEqualTo(Set.copyOf(domains).size() > 1);
        for (int source = 0; source < domains.size(); source++) {
            for (int target = 0; target < domains.size(); target++) {
                check(relays, domains, source, target);
            }
        }
    }

    private static void check(Relays relays, List<Integer> domains, int source, int target) {
        int via = relays.relay(source, target, Mask.NONE);
        List<Integer> there = members(domains, domains.get(target));
        boolean alone = there.size() == 1 || domains.get(source).equals(domains.get(target));
        if (alone) {
            assertThat(via).isEqualTo(-1);
            return;
        }
        List<Integer> here = members(domains, domains.get(source));
        assertThat(via).isEqualTo(there.get(here.indexOf(source) % there.size()));
        assertThat(relays.relay(source, target, Mask.of(Set.of(via)))).isEqualTo(-1);
    }

    private static List<Integer> members(List<Integer> domains, int domain) {
        List<Integer> members = new ArrayList<>();
        for (int r = 0; r < domains.size(); r++) {
            if (domains.get(r) == domain) {
                members.add(r);
            }
        }
        return members;
    }

    /** Ranks 0 and 1, and 1 and 2, map each other, 0 and 2 do not. */
    @Test
    void rowsAreSentDirectlyWhereDomainsOverlap() {
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < 3; from++) {
            for (int to = 0; to < 3; to++) {
                paths.add(path(from, to, Math.abs(from - to) == 1));
            }
        }
        Relays relays = Relays.of(GroupPlan.of(profiles(3), paths));
        assertThat(relays.isPosted()).isTrue();
        assertThat(relays.maxSources()).isZero();
        assertThat(relays.relay(0, 2, Mask.NONE)).isEqualTo(-1);
    }

    /** Rank 2 maps rank 1, which does not map it. */
    @Test
    void rowsAreSentDirectlyWhereMappingIsOneWay() {
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < 3; from++) {
            for (int to = 0; to < 3; to++) {
                paths.add(path(from, to, (from == 0 && to == 1) || (from == 1 && to == 0) || (from == 2 && to == 1)));
            }
        }
        Relays relays = Relays.of(GroupPlan.of(profiles(3), paths));
        assertThat(relays.isPosted()).isTrue();
        assertThat(relays.isUsed()).isFalse();
    }

    @Test
    void bufferSizesFollowThePlan() {
        EpShape shape =
                EpShape.builder(64, 8, 2).maxTokens(16).maxLowLatencyTokens(4).build();
        Engine engine = new Engine();
        BufferSize allMapped = engine.bufferSize(shape, 4, 0);
        assertThat(engine.bufferSize(shape, plan(List.of(0, 0, 0, 0)), 0)).isEqualTo(allMapped);
        BufferSize direct = engine.bufferSize(shape, plan(List.of(0, 1, 2, 3)), 0);
        assertThat(direct.symmetricBytes()).isGreaterThan(allMapped.symmetricBytes());
        BufferSize relayed = engine.bufferSize(shape, plan(List.of(0, 0, 1, 1)), 0);
        assertThat(relayed.symmetricBytes()).isGreaterThan(direct.symmetricBytes());
    }

    static GroupPlan plan(List<Integer> domains) {
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < domains.size(); from++) {
            for (int to = 0; to < domains.size(); to++) {
                paths.add(path(from, to, domains.get(from).equals(domains.get(to))));
            }
        }
        return GroupPlan.of(profiles(domains.size()), paths);
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
