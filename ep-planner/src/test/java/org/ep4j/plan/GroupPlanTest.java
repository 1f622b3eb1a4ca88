package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpPath;
import org.ep4j.EpPlan;
import org.ep4j.spi.RankProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class GroupPlanTest {
    private static RankProfile profile(int rank, String host) {
        return RankProfile.builder(rank, host, Device.HOST)
                .hostName("name-" + host)
                .pid(10 + rank)
                .build();
    }

    private static GroupPlan plan(int ranks, boolean mixed) {
        List<RankProfile> profiles = new ArrayList<>();
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < ranks; from++) {
            profiles.add(profile(from, "h" + from / 2));
            for (int to = 0; to < ranks; to++) {
                boolean near = !mixed || from / 2 == to / 2;
                String backend = from == to ? "local" : near ? "host-shm" : "ibrc-multiqp";
                paths.add(EpPath.builder(from, to, backend, near ? EpPath.Kind.MAPPED : EpPath.Kind.HOST_POSTED)
                        .nics(near ? List.of() : List.of("mlx5_0:1", "mlx5_1:1"))
                        .gigabytesPerSecond(near ? 12.4 : 50)
                        .latencyMicros(near ? 0.6 : 5.25)
                        .rejected(near ? List.of("efa: no NIC") : List.of("host-shm: other host", "efa: no NIC"))
                        .build());
            }
        }
        return GroupPlan.of(profiles, paths);
    }

    @Test
    void theExplanationNamesRanksPathsEstimatesNicsAndReasons() {
        assertThat(plan(4, true).explain()).isEqualTo("""
                        rank 0 (name-h0, pid 10, host:0) nics mlx5_0:1 mlx5_1:1: given
                        rank 1 (name-h0, pid 11, host:0) nics mlx5_0:1 mlx5_1:1: given
                        rank 2 (name-h1, pid 12, host:0) nics mlx5_0:1 mlx5_1:1: given
                        rank 3 (name-h1, pid 13, host:0) nics mlx5_0:1 mlx5_1:1: given
                        hybrid: loads and stores within a domain, NICs between domains
                        0->1 1->0 2->3 3->2: host-shm       MAPPED        path est. 12 GB/s, 0.6 us
                            not taken: efa: no NIC
                        0->2 0->3 1->2 1->3 2->0 2->1 3->0 3->1: ibrc-multiqp   HOST_POSTED   path est. 50 GB/s, 5.3 us, 2 lanes
                            not taken: host-shm: other host
                            not taken: efa: no NIC
                        """);
    }

    @Test
    void likePairsAreShownTogetherAndLongListsAreCut() {
        assertThat(plan(3, false).explain()).contains("all 6 pairs: host-shm");
        assertThat(plan(6, true).explain())
                .contains("0->2 0->3 0->4 0->5 1->2 1->3 1->4 1->5 and 16 more: ibrc-multiqp");
    }

    @Test
    void oneRankIsExplainedByItsName() {
        assertThat(plan(1, false).explain()).isEqualTo("rank 0 (name-h0, pid 10, host:0)\n");
    }

    @Test
    void notesFollowThePathsInTheirOrder() {
        GroupPlan plan = plan(2, false);
        GroupPlan noted = plan.withNotes(List.of("tuned for something", "and for more"));
        assertThat(noted.explain()).isEqualTo(plan.explain() + "tuned for something\nand for more\n");
        assertThat(noted.summary()).isEqualTo(plan.summary() + "tuned for something\nand for more\n");
        assertThat(plan(1, false).withNotes(List.of("a note")).explain())
                .isEqualTo("rank 0 (name-h0, pid 10, host:0)\na note\n");
        assertThat(noted.withNotes(List.of()).explain()).isEqualTo(plan.explain());
    }

    @Test
    void aCopyWithNotesIsTheSamePlan() {
        GroupPlan plan = plan(5, true);
        List<String> notes = new ArrayList<>(List.of("a note"));
        GroupPlan noted = plan.withNotes(notes);
        notes.clear();
        assertThat(noted.notes()).containsExactly("a note");
        assertThat(plan.notes()).isEmpty();
        assertThat(noted).isEqualTo(plan).hasSameHashCodeAs(plan);
        assertThat(noted.paths()).isEqualTo(plan.paths());
        assertThat(noted.mappedPeers(2)).isEqualTo(plan.mappedPeers(2)).isNotEmpty();
        assertThat(noted.nics(4)).isEqualTo(plan.nics(4)).isNotEmpty();
        assertThat(noted.host(4)).isEqualTo(2);
    }

    @Test
    void hostsAreNumberedInTheOrderOfTheirLowestRank() {
        GroupPlan plan = plan(5, true);
        assertThat(IntStream.range(0, 5).map(plan::host)).containsExactly(0, 0, 1, 1, 2);
        assertThat(plan.hostRanks(3)).containsExactly(2, 3);
        assertThat(plan.path(1, 4).to()).isEqualTo(4);
    }

    @Test
    void aTableOfTheWrongSizeOrOrderIsRefused() {
        GroupPlan good = plan(2, false);
        assertThatThrownBy(() -> GroupPlan.of(good.profiles(), good.paths().subList(0, 3)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("2 ranks need 4 paths, got 3");
        List<EpPath> swapped = new ArrayList<>(good.paths());
        java.util.Collections.swap(swapped, 1, 2);
        assertThatThrownBy(() -> GroupPlan.of(good.profiles(), swapped))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("path 1 leads from 1 to 0, must lead from 0 to 1");
        List<RankProfile> reversed =
                List.of(good.profiles().get(1), good.profiles().get(0));
        assertThatThrownBy(() -> GroupPlan.of(reversed, good.paths()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("profile 0 belongs to rank 1");
    }

    @Test
    void aPathWithoutAnEstimateIsRefused() {
        GroupPlan good = plan(2, false);
        List<EpPath> paths = new ArrayList<>(good.paths());
        paths.set(
                2,
                EpPath.builder(1, 0, "host-shm", EpPath.Kind.MAPPED)
                        .gigabytesPerSecond(3)
                        .build());
        assertThatThrownBy(() -> GroupPlan.of(good.profiles(), paths))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the path from 1 to 0 is estimated at 3.0 GB/s and 0.0 us, must be above 0");
    }

    @Test
    void onlyAPlanOfThePlannerHasMoreThanItsInterface() {
        GroupPlan plan = plan(2, false);
        assertThat(GroupPlan.of(plan)).isSameAs(plan);
        EpPlan foreign = new EpPlan() {
            @Override
            public int ranks() {
                return plan.ranks();
            }

            @Override
            public EpPath path(int from, int to) {
                return plan.path(from, to);
            }

            @Override
            public List<String> backends() {
                return plan.backends();
            }

            @Override
            public List<Integer> ranksUsing(String backend) {
                return plan.ranksUsing(backend);
            }

            @Override
            public int host(int rank) {
                return plan.host(rank);
            }

            @Override
            public List<String> nics(int rank) {
                return plan.nics(rank);
            }

            @Override
            public String explain() {
                return plan.explain();
            }
        };
        assertThatThrownBy(() -> GroupPlan.of(foreign))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContainingAll(foreign.getClass().getName(), "pass EpGroup.plan()");
    }
}
