package org.ep4j.plan.forecast;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.Planner;
import org.ep4j.plan.Planner.Candidate;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class PathTableTest {
    private static final Candidate SHARED = new Candidate(
            "shared",
            (from, to) -> from.identity("shared").equals(to.identity("shared"))
                    ? Offer.path(EpPath.Kind.MAPPED)
                            .gigabytesPerSecond(300)
                            .latencyMicros(1)
                            .build()
                    : Offer.none("another folder", ""));
    private static final Candidate WIRE = new Candidate(
            "wire",
            (from, to) -> Offer.path(EpPath.Kind.HOST_POSTED)
                    .gigabytesPerSecond(40)
                    .latencyMicros(5)
                    .build());

    private static RankProfile rank(int rank, boolean usable, String folder) {
        BackendProfile shared = BackendProfile.of(Map.of(), Map.of("folder", folder));
        return RankProfile.builder(rank, "h" + rank / 2, Device.HOST)
                .pid(1)
                .backends(Map.of(
                        "shared",
                        usable ? shared : shared.unusable("", false),
                        "wire",
                        BackendProfile.of(Map.of(), Map.of())))
                .build();
    }

    private static void everyPairHasItsOwnTraits(List<RankProfile> profiles) {
        GroupPlan plan = Planner.plan(profiles, List.of(SHARED, WIRE), BackendChoice.AUTO);
        PathTable table = new PathTable(plan);
        for (int from = 0; from < plan.ranks(); from++) {
            for (int to = 0; to < plan.ranks(); to++) {
                if (from != to) {
                    assertThat(table.traits(from, to)).isEqualTo(PathTable.Traits.of(plan, from, to));
                }
            }
        }
        assertThat(plan.backends()).containsExactly("shared", "wire");
    }

    @Test
    void hostsMayDifferInWhatIsUsable() {
        List<RankProfile> profiles = new ArrayList<>();
        for (int rank = 0; rank < 8; rank++) {
            profiles.add(rank(rank, rank < 4, "h" + rank / 2));
        }
        everyPairHasItsOwnTraits(profiles);
    }

    @Test
    void hostsMayDifferInIdentityAlone() {
        List<RankProfile> profiles = new ArrayList<>();
        for (int rank = 0; rank < 8; rank++) {
            profiles.add(rank(rank, true, rank < 4 ? "h" + rank / 2 : "container " + rank));
        }
        everyPairHasItsOwnTraits(profiles);
    }
}
