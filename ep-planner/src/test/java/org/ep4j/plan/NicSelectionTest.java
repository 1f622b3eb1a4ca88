package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpConfigException;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What users want of NICs, from the settings in profiles to the plan. */
@Tag("verify")
class NicSelectionTest {
    /** Two hosts of two GPUs, each beside its own of two NICs; the second host has the given settings. */
    private static List<RankProfile> twoHosts(Map<String, String> settings) {
        List<RankProfile> profiles = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            profiles.add(Machines.rank(
                    rank, "h" + rank / 2, Machines.ownNics(rank % 2, 2, 1), rank < 2 ? Map.of() : settings));
        }
        return profiles;
    }

    private static GroupPlan plan(Map<String, String> settings) {
        return Planner.plan(twoHosts(settings), List.of(Machines.mapped(), Machines.posted()), PlanOptions.AUTO);
    }

    private static void refused(Map<String, String> settings, String... texts) {
        assertThatThrownBy(() -> plan(settings))
                .isInstanceOf(EpConfigException.class)
                .satisfies(e -> {
                    assertThat(e.getMessage()).contains(texts);
                });
    }

    @Test
    void aMapIsFollowedOnItsOwnHostOnly() {
        GroupPlan plan = plan(Map.of("ep.nic.map", "0:mlx5_1:1,1:mlx5_0:1"));
        assertThat(plan.nics(0)).containsExactly("mlx5_0:1");
        assertThat(plan.nics(1)).containsExactly("mlx5_1:1");
        assertThat(plan.nics(2)).containsExactly("mlx5_1:1");
        assertThat(plan.nics(3)).containsExactly("mlx5_0:1");
        assertThat(plan.nicReason(2)).isEqualTo("as ep.nic.map says");
        assertThat(plan.path(2, 0).nics()).containsExactly("mlx5_1:1");
    }

    @Test
    void reasonsSayWhenSettingsLeftSomeNicsOut() {
        GroupPlan plan = plan(Map.of("ep.nic.include", "mlx5_1"));
        assertThat(plan.nics(2)).containsExactly("mlx5_1:1");
        assertThat(plan.nicReason(2)).contains("chosen among the ports that the settings allow");
        assertThat(plan.nicReason(0)).doesNotContain("settings");
    }

    @Test
    void aGpuMayBeGivenSeveralNicsInAnOrder() {
        GroupPlan plan = plan(Map.of("ep.nic.map", "0:mlx5_1,0:mlx5_0,*:mlx5_0"));
        assertThat(plan.nics(2)).containsExactly("mlx5_1:1", "mlx5_0:1");
        assertThat(plan.nics(3)).containsExactly("mlx5_0:1");
        assertThat(plan.path(2, 1).lanes()).isEqualTo(12);
    }

    @Test
    void theMapOfTheOptionsIsForRanksWithoutWishesOfTheirOwn() {
        NicChoice swapped = new NicChoice("0:mlx5_1,1:mlx5_0", "", "");
        GroupPlan plan = Planner.plan(
                twoHosts(Map.of("ep.nic.include", "mlx5_0,mlx5_1")),
                List.of(Machines.mapped(), Machines.posted()),
                new PlanOptions(BackendChoice.AUTO, swapped, Objective.BALANCED));
        assertThat(plan.nics(0)).containsExactly("mlx5_1:1");
        assertThat(plan.nics(2)).containsExactly("mlx5_0:1");
    }

    @Test
    void aNicThatIsNotThereIsNamedWithThoseThatAre() {
        refused(
                Map.of("ep.nic.map", "0:mlx5_9:1,1:mlx5_0:1"),
                "ep.nic.map = 0:mlx5_9:1,1:mlx5_0:1 of rank 2 (name-h1, pid 1002, cuda:0)",
                "mlx5_9:1",
                "mlx5_0:1, mlx5_1:1");
    }

    @Test
    void aPortThatDoesNotExistIsNamed() {
        refused(Map.of("ep.nic.map", "0:mlx5_0:2,1:mlx5_1:1"), "mlx5_0:2", "does not exist", "mlx5_0:1");
    }

    @Test
    void aPortThatCannotBeUsedIsLeftToTheBackendsThatNeedOne() {
        NicReach near = Machines.nic("mlx5_0", PathType.PIX, "");
        NicReach down = NicReach.builder("mlx5_1", near.family(), near.distance())
                .card(near.card())
                .obstacles(Map.of(1, PortObstacle.DOWN, 2, PortObstacle.LINK_LOCAL))
                .build();
        RankProfile profile = twoHosts(Map.of()).get(2).toBuilder()
                .locality(Machines.gpu(0, List.of(near, down)))
                .build();

        Locality selected =
                NicSelection.of(profile, new NicChoice("0:mlx5_1:1", "", "")).locality();
        assertThat(selected.nics()).extracting(NicReach::name).containsExactly("mlx5_1");
        assertThat(selected.obstaclesText()).isEqualTo("mlx5_1:1 (down)");
        assertThatThrownBy(() -> NicSelection.of(profile, new NicChoice("0:mlx5_1:3", "", "")))
                .hasMessageContaining("names mlx5_1:3, which does not exist; ports that are up: mlx5_0:1; not usable:"
                        + " mlx5_1:1 (down), mlx5_1:2 (only link-local GIDs");
    }

    @Test
    void aMapWithoutAGpuIsRefusedWithWhatToAdd() {
        refused(Map.of("ep.nic.map", "0:mlx5_0:1"), "rank 3", "no NIC for GPU 1", "add 1:NIC, or *:NIC");
    }

    @Test
    void aListThatMatchesNothingIsRefused() {
        refused(
                Map.of("ep.nic.include", "bnxt"),
                "rank 2 (name-h1, pid 1002, cuda:0) is left without a NIC by ep.nic.include = bnxt",
                "mlx5_0:1, mlx5_1:1");
        refused(
                Map.of("ep.nic.map", "*:mlx5_0", "ep.nic.exclude", "mlx5_0"),
                "left without a NIC by ep.nic.map = *:mlx5_0, ep.nic.exclude = mlx5_0");
    }

    @Test
    void malformedWishesOfAnotherRankNameIt() {
        refused(Map.of("ep.nic.map", "mlx5_0"), "rank 2 (name-h1, pid 1002, cuda:0): ep.nic.map is \"mlx5_0\"");
        refused(Map.of("ep.nic.exclude", "^mlx5_0"), "ep.nic.exclude", "without ^");
    }

    @Test
    void excludedNicsAreLeftToNobody() {
        GroupPlan plan = plan(Map.of("ep.nic.exclude", "mlx5_0"));
        assertThat(plan.nics(0)).containsExactly("mlx5_0:1");
        assertThat(plan.nics(2)).containsExactly("mlx5_1:1");
        assertThat(plan.nics(3)).containsExactly("mlx5_1:1");
    }

    @Test
    void excludingAllNicsIsAWishThatTheBackendAnswers() {
        assertThatThrownBy(() -> plan(Map.of("ep.nic.exclude", "mlx5")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("rdma: no NIC");
    }

    @Test
    void wishesAreAppliedToOffersAlsoWhereTheMachineIsUnknown() {
        List<RankProfile> profiles = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            profiles.add(RankProfile.builder(rank, "h" + rank, Device.cuda(rank))
                    .pid(1)
                    .backends(Map.of("rdma", BackendProfile.of(Map.of(), Map.of())))
                    .settings(Map.of("ep.nic.map", "0:mlx5_0,1:mlx5_1:1"))
                    .build());
        }
        Planner.Candidate rdma = new Planner.Candidate(
                "rdma",
                (a, b) -> Offer.path(EpPath.Kind.HOST_POSTED)
                        .gigabytesPerSecond(10)
                        .latencyMicros(5)
                        .nics(List.of("mlx5_0:1", "mlx5_1:1"))
                        .build());
        GroupPlan plan = Planner.plan(profiles, List.of(rdma), PlanOptions.AUTO);
        assertThat(plan.nics(0)).containsExactly("mlx5_0:1");
        assertThat(plan.nics(1)).containsExactly("mlx5_1:1");
        Planner.Candidate other = new Planner.Candidate(
                "rdma",
                (a, b) -> Offer.path(EpPath.Kind.HOST_POSTED)
                        .gigabytesPerSecond(10)
                        .latencyMicros(5)
                        .nics(List.of("bnxt_re0:1"))
                        .build());
        assertThatThrownBy(() -> Planner.plan(profiles, List.of(other), PlanOptions.AUTO))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining(
                        "the settings exclude all usable ports (bnxt_re0:1): ep.nic.map = 0:mlx5_0,1:mlx5_1:1");
    }

    @Test
    void ranksWithoutGpuAreNotBoundByAMapOfGpus() {
        Locality host = Locality.builder()
                .numa(0)
                .gpus(2)
                .nics(Machines.ownNics(0, 2, 1).nics())
                .build();
        List<RankProfile> profiles = List.of(
                Machines.rank(0, "h0", host, Map.of("ep.nic.map", "0:mlx5_1,1:mlx5_1")),
                Machines.rank(1, "h1", host, Map.of()));
        GroupPlan plan = Planner.plan(profiles, List.of(Machines.mapped(), Machines.posted()), PlanOptions.AUTO);
        assertThat(plan.nics(0)).containsExactly("mlx5_0:1");
    }
}
