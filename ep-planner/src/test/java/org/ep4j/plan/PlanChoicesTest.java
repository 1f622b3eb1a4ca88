package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.EpPath;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.GroupPlan.PairGroup;
import org.ep4j.plan.Planner.Candidate;
import org.ep4j.spi.Check;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What decides between offers, how many lanes there are, and how large plans read. */
@Tag("verify")
class PlanChoicesTest {
    private static final Candidate QUICK = new Candidate(
            "ipc",
            (a, b) -> Offer.path(EpPath.Kind.MAPPED)
                    .gigabytesPerSecond(10)
                    .latencyMicros(1)
                    .build());
    private static final Candidate WIDE = new Candidate(
            "rdma",
            (a, b) -> Offer.path(EpPath.Kind.MAPPED)
                    .gigabytesPerSecond(100)
                    .latencyMicros(2)
                    .build());

    private static List<RankProfile> two() {
        return Machines.hosts(List.of(2), gpu -> Machines.ownNics(gpu, 2, 1));
    }

    private static GroupPlan plan(Objective objective, String prefer, Candidate... candidates) {
        BackendChoice backends =
                new BackendChoice(List.of(), prefer.isEmpty() ? List.of() : List.of(prefer), List.of());
        return Planner.plan(two(), List.of(candidates), new PlanOptions(backends, NicChoice.AUTO, objective));
    }

    @Test
    void theObjectiveDecidesBetweenLatencyAndBandwidth() {
        assertThat(plan(Objective.LOW_LATENCY, "", QUICK, WIDE).path(0, 1).backend())
                .isEqualTo("ipc");
        GroupPlan wide = plan(Objective.HIGH_THROUGHPUT, "", QUICK, WIDE);
        assertThat(wide.path(0, 1).backend()).isEqualTo("rdma");
        assertThat(wide.path(0, 1).rejected()).containsExactly("ipc: slower, 379.5 us a batch against 39.8 us");
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .set(EpKeys.OBJECTIVE.name(), "HIGH_THROUGHPUT")
                .build();
        assertThat(PlanOptions.from(config).objective()).isEqualTo(Objective.HIGH_THROUGHPUT);
    }

    @Test
    void aStagedPathIsTakenWhenNothingBetterIsThereOrItIsPreferred() {
        Candidate staged = new Candidate(
                "ipc",
                (a, b) -> Offer.path(EpPath.Kind.HOST_POSTED)
                        .gigabytesPerSecond(1000)
                        .latencyMicros(0.1)
                        .staged(true)
                        .build());
        GroupPlan other = plan(Objective.BALANCED, "", staged, WIDE);
        assertThat(other.path(0, 1).backend()).isEqualTo("rdma");
        assertThat(other.path(0, 1).rejected())
                .singleElement()
                .asString()
                .startsWith("ipc: staged through host memory (staged paths are chosen last)");
        GroupPlan alone = plan(Objective.BALANCED, "", staged);
        assertThat(alone.path(0, 1).backend()).isEqualTo("ipc");
        assertThat(alone.explain()).contains("staged through host memory since there is no better path");
        assertThat(plan(Objective.BALANCED, "ipc", staged, WIDE).path(0, 1).backend())
                .isEqualTo("ipc");
    }

    @Test
    void postedPathsAreTakenWhereAPlanIsNotToBeHybrid() {
        Candidate posting = new Candidate(
                Machines.POSTED,
                (a, b) -> Offer.path(EpPath.Kind.HOST_POSTED)
                        .gigabytesPerSecond(1)
                        .latencyMicros(50)
                        .staged(true)
                        .build());
        Candidate inside = new Candidate(
                "ipc",
                (a, b) -> a.hostId().equals(b.hostId())
                        ? Offer.path(EpPath.Kind.MAPPED)
                                .gigabytesPerSecond(300)
                                .latencyMicros(1)
                                .build()
                        : Offer.none("another host", ""));
        List<RankProfile> profiles = Machines.hosts(List.of(2, 2), gpu -> Machines.ownNics(gpu, 2, 1));
        BackendChoice prefer = new BackendChoice(List.of(), List.of("ipc"), List.of());
        GroupPlan hybrid = Planner.plan(profiles, List.of(posting, inside), options(prefer, Map.of()));
        assertThat(hybrid.hybrid()).isTrue();
        assertThat(hybrid.path(0, 1).backend()).isEqualTo("ipc");
        assertThat(hybrid.path(0, 2).backend()).isEqualTo(Machines.POSTED);

        GroupPlan posted =
                Planner.plan(profiles, List.of(posting, inside), options(prefer, Map.of("EP_HYBRID_LL", "0")));
        assertThat(posted.hybrid()).isFalse();
        assertThat(posted.groups()).allMatch(group -> group.example().kind() == EpPath.Kind.HOST_POSTED);
        assertThat(posted.path(0, 1).rejected())
                .containsExactly("ipc: maps memory; with ep.plan.hybrid=false, mapped paths are chosen last");
        assertThat(posted).isNotEqualTo(hybrid);
        // Where nothing is posted there is no choice.
        assertThat(Planner.plan(profiles.subList(0, 2), List.of(inside), options(prefer, Map.of("EP_HYBRID_LL", "0")))
                        .path(0, 1)
                        .backend())
                .isEqualTo("ipc");
    }

    @Test
    void theHybridSettingIsYesOrNo() {
        assertThat(options(BackendChoice.AUTO, Map.of()).hybrid()).isTrue();
        assertThat(options(BackendChoice.AUTO, Map.of("EP_HYBRID_LL", "1", "EP_PLAN_HYBRID", "off"))
                        .hybrid())
                .as("the own variable counts first")
                .isFalse();
        assertThatThrownBy(() -> options(BackendChoice.AUTO, Map.of("EP_HYBRID_LL", "2")))
                .isInstanceOf(EpConfigException.class)
                .hasMessageStartingWith(
                        "ep.plan.hybrid is \"2\" (from ENVIRONMENT EP_HYBRID_LL), must be true or false; true: ranks");
    }

    private static PlanOptions options(BackendChoice backends, Map<String, String> variables) {
        PlanOptions read =
                PlanOptions.from(EpConfig.builder(Map.of(), variables).build());
        return new PlanOptions(
                backends, read.nics(), read.objective(), read.lanes(), read.proxies(), read.hybrid(), read.relays());
    }

    @Test
    void lanesAreAMultipleOfThePorts() {
        assertThat(IntStream.of(1, 2, 3, 4, 5).map(ports -> PostingCounts.lanes(0, Objective.BALANCED, ports, 16)))
                .containsExactly(12, 12, 12, 12, 15);
        assertThat(PostingCounts.lanes(0, Objective.LOW_LATENCY, 1, 16)).isEqualTo(8);
        assertThat(PostingCounts.lanes(5, Objective.BALANCED, 4, 16)).isEqualTo(8);
        assertThat(PostingCounts.lanes(1, Objective.BALANCED, 1, 16)).isEqualTo(1);
    }

    @Test
    void theLanesThatTheUserWantsAreTaken() {
        List<RankProfile> profiles = Machines.hosts(List.of(1, 1), gpu -> Machines.ownNics(gpu, 1, 4));
        GroupPlan plan = Planner.plan(
                profiles,
                List.of(Machines.posted()),
                new PlanOptions(BackendChoice.AUTO, NicChoice.AUTO, Objective.BALANCED, 6, 0, true, true));
        assertThat(plan.path(0, 1).nics()).hasSize(4);
        assertThat(plan.path(0, 1).lanes()).isEqualTo(8);
    }

    @Test
    void endsWithDifferentNumbersOfPortsAgreeOnLanes() {
        List<RankProfile> profiles = new ArrayList<>();
        profiles.add(Machines.rank(0, "a", Machines.ownNics(0, 1, 5), Map.of()));
        profiles.add(Machines.rank(1, "b", Machines.ownNics(0, 1, 2), Map.of()));
        GroupPlan plan = Planner.plan(profiles, List.of(Machines.posted()), PlanOptions.AUTO);
        assertThat(plan.path(0, 1).lanes()).isEqualTo(15);
        assertThat(plan.path(1, 0).lanes()).isEqualTo(15);
        assertThat(plan.path(1, 0).nics()).hasSize(2);
    }

    @Test
    void offersAreAskedForOncePerKindOfPair() {
        List<RankProfile> profiles =
                Machines.hosts(java.util.Collections.nCopies(16, 4), gpu -> Machines.ownNics(gpu, 4, 1));
        List<String> asked = new ArrayList<>();
        Candidate counting = new Candidate(Machines.POSTED, (a, b) -> {
            asked.add(a.rank() + ">" + b.rank());
            return Machines.posted().offer().apply(a, b);
        });
        GroupPlan plan = Planner.plan(profiles, List.of(counting, Machines.mapped()), PlanOptions.AUTO);
        // Every GPU to every GPU of another host, and to every other GPU of its own.
        assertThat(asked).doesNotHaveDuplicates().hasSize(16 + 12);
        assertThat(plan.groups().stream().mapToLong(PairGroup::pairs).sum()).isEqualTo(64L * 63);
        assertThat(plan.groups()).hasSize(2);
    }

    @Test
    void theSummaryLeavesOutBackendsWhoseHardwareIsMissingUnlessTheSettingsNameThem() {
        Check missing = Check.notApplicable("EP-X-001", "no AMD GPU", "");
        Check broken = Check.fail("EP-Y-001", "no driver", "install it");
        Map<String, BackendProfile> backends = Map.of(
                "ipc", BackendProfile.of(Map.of(), Map.of()),
                "rocm", BackendProfile.of(ProbeReport.builder().check(missing).build()),
                "rdma", BackendProfile.of(ProbeReport.builder().check(broken).build()));
        List<RankProfile> profiles = List.of(
                RankProfile.builder(0, "h", Device.HOST)
                        .hostName("name-h")
                        .pid(10)
                        .backends(backends)
                        .build(),
                RankProfile.builder(1, "h", Device.HOST)
                        .hostName("name-h")
                        .pid(11)
                        .backends(backends)
                        .build());
        List<Planner.Candidate> candidates = Stream.of("ipc", "rdma", "rocm")
                .map(id -> new Planner.Candidate(
                        id,
                        (a, b) -> Offer.path(EpPath.Kind.MAPPED)
                                .gigabytesPerSecond(300)
                                .latencyMicros(1)
                                .build()))
                .toList();
        GroupPlan plan = Planner.plan(profiles, candidates, PlanOptions.AUTO);
        assertThat(plan.explain())
                .contains("not taken: rocm: not usable on rank 0", "not taken: rdma: not usable on rank 0");
        assertThat(plan.summary())
                .contains("all 2 pairs: ipc", "not taken: rdma: not usable on rank 0")
                .doesNotContain("rocm");
        PlanOptions preferred = new PlanOptions(
                new BackendChoice(List.of(), List.of("rocm"), List.of()), NicChoice.AUTO, Objective.BALANCED);
        assertThat(Planner.plan(profiles, candidates, preferred).summary())
                .contains("not taken: rocm: not usable on rank 0");
    }

    @Test
    void aLargePlanIsFolded() {
        List<Integer> hosts = new ArrayList<>(java.util.Collections.nCopies(31, 8));
        hosts.add(3);
        List<RankProfile> profiles = Machines.hosts(hosts, gpu -> Machines.ownNics(gpu, 8, 1));
        GroupPlan plan = Planner.plan(profiles, List.of(Machines.mapped(), Machines.posted()), PlanOptions.AUTO);
        assertThat(plan.explain().lines().filter(line -> !line.startsWith("    rank")))
                .containsExactly(
                        "251 ranks on 32 hosts",
                        "name-h0 (ranks 0-7), and 30 like it: name-h1 (ranks 8-15), name-h2 (ranks 16-23), name-h3 (ranks"
                                + " 24-31), name-h4 (ranks 32-39), name-h5 (ranks 40-47), name-h6 (ranks 48-55), name-h7"
                                + " (ranks 56-63), ... name-h30 (ranks 240-247)",
                        "name-h31 (ranks 248-250)",
                        "hybrid: loads and stores within a domain, NICs between domains",
                        "0->1 0->2 0->3 0->4 0->5 0->6 0->7 1->0 and 1734 more: ipc            MAPPED        path est. 300 GB/s,"
                                + " 1.0 us",
                        "    not taken: rdma: slower, 5.4 us a row against 1.0 us",
                        "0->8 0->9 0->10 0->11 0->12 0->13 0->14 0->15 and 61000 more: rdma           HOST_POSTED   path est. 40"
                                + " GB/s, 5.0 us, 12 lanes",
                        "    not taken: ipc: another host (take a network backend)");
        assertThat(plan.explain())
                .contains("    rank 7 (name-h0, pid 1007, cuda:7) nics mlx5_7:1: nearest (PIX)\n")
                .contains("    rank 250 (name-h31, pid 1250, cuda:2) nics mlx5_2:1: nearest (PIX)\n");
    }

    @Test
    void manyLikeRanksOfOneHostAreOneLine() {
        List<RankProfile> profiles = Machines.hosts(
                List.of(256), i -> org.ep4j.topology.Locality.builder().numa(0).build());
        GroupPlan plan = Planner.plan(profiles, List.of(Machines.mapped()), PlanOptions.AUTO);
        assertThat(plan.explain()).isEqualTo("""
                        256 ranks on 1 host
                        name-h0 (ranks 0-255)
                            rank 0 (name-h0, pid 1000, host:0), and 255 ranks like it
                        all 65280 pairs: ipc            MAPPED        path est. 300 GB/s, 1.0 us
                        """);
    }
}
