package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.Planner.Candidate;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class PlannerTest {
    private static final List<String> IDS = List.of("alpha", "beta", "gamma", "delta");

    /** A rank on a host, with every backend usable. */
    private static RankProfile rank(int rank, String host) {
        Map<String, BackendProfile> backends = new TreeMap<>();
        IDS.forEach(id -> backends.put(id, BackendProfile.of(Map.of(), Map.of())));
        return RankProfile.builder(rank, host, Device.HOST)
                .pid(100 + rank)
                .backends(backends)
                .build();
    }

    private static RankProfile without(RankProfile profile, String id, boolean present) {
        Map<String, BackendProfile> backends = new TreeMap<>(profile.backends());
        backends.remove(id);
        if (present) {
            backends.put(id, BackendProfile.unusable("the driver is missing"));
        }
        return profile.toBuilder().backends(backends).build();
    }

    private static Candidate always(String id, double gigabytes, double micros) {
        return new Candidate(
                id,
                (a, b) -> Offer.path(EpPath.Kind.MAPPED)
                        .gigabytesPerSecond(gigabytes)
                        .latencyMicros(micros)
                        .build());
    }

    private static Candidate network(String id, double gigabytes, double micros) {
        return new Candidate(
                id,
                (a, b) -> Offer.path(EpPath.Kind.HOST_POSTED)
                        .gigabytesPerSecond(gigabytes)
                        .latencyMicros(micros)
                        .build());
    }

    private static Candidate sameHost(String id, double gigabytes, double micros) {
        return new Candidate(
                id,
                (a, b) -> a.hostId().equals(b.hostId())
                        ? Offer.path(EpPath.Kind.MAPPED)
                                .gigabytesPerSecond(gigabytes)
                                .latencyMicros(micros)
                                .build()
                        : Offer.none("another host", "use a network backend"));
    }

    private static List<RankProfile> oneHost(int ranks) {
        return IntStream.range(0, ranks).mapToObj(r -> rank(r, "a")).toList();
    }

    private static BackendChoice choice(String require, String prefer, String exclude) {
        return BackendChoice.from(EpConfig.builder(Map.of(), Map.of())
                .set("ep.backend.require", require)
                .set("ep.backend.prefer", prefer)
                .set("ep.backend.exclude", exclude)
                .build());
    }

    /** A rank that differs in a fact from those with another number. */
    private static RankProfile special(int rank, int number, String host) {
        Map<String, BackendProfile> backends = new TreeMap<>();
        IDS.forEach(id -> backends.put(id, BackendProfile.of(Map.of("number", Integer.toString(number)), Map.of())));
        return RankProfile.builder(rank, host, Device.HOST)
                .pid(100 + rank)
                .backends(backends)
                .build();
    }

    /** Offers that depend on nothing but facts, host and the backend, different from pair to pair. */
    private static Offer offer(long seed, String id, RankProfile from, RankProfile to) {
        int a = Integer.parseInt(from.facts(id).getOrDefault("number", ""));
        int b = Integer.parseInt(to.facts(id).getOrDefault("number", ""));
        Random random = new Random(seed ^ id.hashCode() ^ a * 31L ^ b * 1009L);
        random.nextInt();
        return random.nextInt(4) == 0 && !id.equals("alpha")
                ? Offer.none("no link", "")
                : Offer.path(EpPath.Kind.HOST_POSTED)
                        .gigabytesPerSecond(1 + random.nextInt(3))
                        .latencyMicros(1 + random.nextInt(3))
                        .nics(List.of("nic" + random.nextInt(2)))
                        .build();
    }

    @Property(tries = 200)
    void everyRankReachesTheSamePlanFromTheSameBytesWhateverTheOrderOfItsBackends(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 7) int ranks,
            @ForAll @Size(max = 2) List<@IntRange(max = 3) Integer> preferred) {
        List<RankProfile> reported = IntStream.range(0, ranks)
                .mapToObj(r -> special(r, r % 4, "h" + r % 2))
                .toList();
        List<byte[]> bytes = reported.stream().map(ProfileCodec::encode).toList();
        String prefer = String.join(",", preferred.stream().map(IDS::get).toList());
        List<GroupPlan> plans = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            List<Candidate> candidates = new ArrayList<>();
            IDS.forEach(id -> candidates.add(new Candidate(id, (a, b) -> offer(seed, id, a, b))));
            Collections.shuffle(candidates, new Random(seed + rank));
            List<RankProfile> profiles =
                    bytes.stream().map(ProfileCodec::decode).toList();
            plans.add(Planner.plan(profiles, candidates, choice("", prefer, "")));
        }
        assertThat(plans).allSatisfy(plan -> {
            assertThat(plan).isEqualTo(plans.get(0));
            assertThat(plan.explain()).isEqualTo(plans.get(0).explain());
        });
    }

    @Property(tries = 200)
    void everyPairGetsTheCheapestOfferAmongTheMostPreferred(
            @ForAll long seed, @ForAll @IntRange(min = 2, max = 6) int ranks) {
        List<RankProfile> profiles =
                IntStream.range(0, ranks).mapToObj(r -> special(r, r, "a")).toList();
        List<Candidate> candidates = IDS.stream()
                .map(id -> new Candidate(id, (a, b) -> offer(seed, id, a, b)))
                .toList();
        GroupPlan plan = Planner.plan(profiles, candidates, choice("", "gamma", ""));
        for (EpPath path : plan.paths()) {
            if (path.from() == path.to()) {
                assertThat(path.backend()).isEqualTo(Planner.LOCAL);
                assertThat(path.kind()).isEqualTo(EpPath.Kind.LOCAL);
                continue;
            }
            RankProfile from = profiles.get(path.from());
            RankProfile to = profiles.get(path.to());
            if (offer(seed, "gamma", from, to).isPath()) {
                assertThat(path.backend()).isEqualTo("gamma");
            } else {
                for (String id : IDS) {
                    Offer other = offer(seed, id, from, to);
                    if (other.isPath()) {
                        assertThat(cost(plan.offer(path.from(), path.to()))).isLessThanOrEqualTo(cost(other));
                        if (cost(plan.offer(path.from(), path.to())) == cost(other)) {
                            assertThat(path.backend()).isLessThanOrEqualTo(id);
                        }
                    }
                }
            }
            assertThat(path.rejected()).as("every other backend has its reason").hasSize(IDS.size() - 1);
        }
    }

    private static double cost(Offer offer) {
        return offer.latencyMicros() + 14336 / (offer.gigabytesPerSecond() * 1e3);
    }

    @Test
    void equalOffersGoToTheFirstId() {
        List<Candidate> candidates = List.of(always("gamma", 10, 1), always("beta", 10, 1), always("delta", 10, 1));
        GroupPlan plan = Planner.plan(oneHost(2), candidates, BackendChoice.AUTO);
        assertThat(plan.path(0, 1).backend()).isEqualTo("beta");
        assertThat(plan.backends()).containsExactly("beta");
    }

    @Test
    void thePlanIsMadePairByPair() {
        List<RankProfile> profiles = List.of(rank(0, "a"), rank(1, "a"), rank(2, "b"));
        GroupPlan plan =
                Planner.plan(profiles, List.of(sameHost("alpha", 100, 1), network("beta", 10, 10)), BackendChoice.AUTO);
        assertThat(plan.path(0, 1).backend()).isEqualTo("alpha");
        assertThat(plan.path(1, 2).backend()).isEqualTo("beta");
        assertThat(plan.path(1, 2).rejected()).singleElement().isEqualTo("alpha: another host (use a network backend)");
        assertThat(plan.path(0, 1).rejected())
                .singleElement()
                .asString()
                .startsWith("beta: slower, 11.4 us a row against 1.1 us");
        assertThat(plan.backends()).containsExactly("alpha", "beta");
        assertThat(plan.ranksUsing("alpha")).containsExactly(0, 1);
        assertThat(plan.ranksUsing("beta")).containsExactly(0, 1, 2);
        assertThat(plan.ranksUsing("none")).isEmpty();
        assertThat(plan.hostRanks(1)).containsExactly(0, 1);
        assertThat(IntStream.range(0, 3).map(plan::host)).containsExactly(0, 0, 1);
    }

    @Test
    void requireLetsNothingElseInAndNeverFallsBack() {
        List<Candidate> candidates = List.of(always("alpha", 100, 1), sameHost("beta", 1, 50));
        GroupPlan plan = Planner.plan(oneHost(2), candidates, choice("beta", "", ""));
        assertThat(plan.path(0, 1).backend()).isEqualTo("beta");
        assertThat(plan.path(0, 1).rejected()).containsExactly("alpha: not among ep.backend.require = beta");
        assertThatThrownBy(() -> Planner.plan(List.of(rank(0, "a"), rank(1, "b")), candidates, choice("beta", "", "")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("2 pairs of ranks have no path")
                .hasMessageContaining("alpha: not among ep.backend.require = beta")
                .hasMessageContaining("beta: another host (use a network backend)");
    }

    @Test
    void preferOrdersAndFallsBackToTheRest() {
        List<Candidate> candidates =
                List.of(network("alpha", 100, 1), sameHost("beta", 1, 50), network("gamma", 2, 40));
        GroupPlan plan = Planner.plan(
                List.of(rank(0, "a"), rank(1, "a"), rank(2, "b")), candidates, choice("", " beta , gamma ", ""));
        assertThat(plan.path(0, 1).backend()).isEqualTo("beta");
        assertThat(plan.path(0, 2).backend()).isEqualTo("gamma");
        assertThat(plan.path(0, 1).rejected()).anyMatch(r -> r.startsWith("alpha: not preferred"));
        assertThat(Planner.plan(
                                oneHost(2),
                                List.of(always("alpha", 1, 1), always("beta", 9, 1)),
                                choice("", "alpha", ""))
                        .path(0, 1)
                        .backend())
                .isEqualTo("alpha");
    }

    @Test
    void excludeTakesABackendOut() {
        List<Candidate> candidates = List.of(always("alpha", 100, 1), always("beta", 1, 50));
        GroupPlan plan = Planner.plan(oneHost(2), candidates, choice("", "", "alpha, not-installed"));
        assertThat(plan.path(0, 1).backend()).isEqualTo("beta");
        assertThat(plan.path(0, 1).rejected()).containsExactly("alpha: excluded by ep.backend.exclude");
    }

    @Test
    void aRequiredOrPreferredNameThatNobodyHasIsRefusedWithTheNamesThereAre() {
        List<Candidate> candidates = List.of(always("alpha", 100, 1), always("beta", 1, 50));
        for (BackendChoice bad : List.of(choice("alhpa", "", ""), choice("", "alhpa", ""))) {
            assertThatThrownBy(() -> Planner.plan(oneHost(2), candidates, bad))
                    .isInstanceOf(EpUnavailableException.class)
                    .hasMessageContaining("backend alhpa is not on the class path, which has: alpha, beta");
        }
        assertThatThrownBy(() -> Planner.plan(oneHost(2), List.of(), choice("x", "", "")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("which has: none");
    }

    @Test
    void aBackendThatOneRankCannotUseIsRejectedWithThatRanksReason() {
        List<Candidate> candidates = List.of(always("alpha", 100, 1), always("beta", 1, 50));
        GroupPlan unusable = Planner.plan(
                List.of(rank(0, "a"), without(rank(1, "a"), "alpha", true)), candidates, BackendChoice.AUTO);
        assertThat(unusable.path(0, 1).backend()).isEqualTo("beta");
        assertThat(unusable.path(0, 1).rejected())
                .containsExactly("alpha: not usable on rank 1 (a, pid 101, host:0): the driver is missing");
        GroupPlan absent = Planner.plan(
                List.of(rank(0, "a"), without(rank(1, "a"), "alpha", false)), candidates, BackendChoice.AUTO);
        assertThat(absent.path(1, 0).rejected())
                .containsExactly("alpha: not on the class path of rank 1 (a, pid 101, host:0)");
    }

    @Test
    void offersAreAskedForOnlyWhereBothRanksCanUseTheBackend() {
        List<String> asked = new ArrayList<>();
        Candidate alpha = new Candidate("alpha", (a, b) -> {
            asked.add(a.rank() + ">" + b.rank());
            return Offer.path(EpPath.Kind.MAPPED)
                    .gigabytesPerSecond(1)
                    .latencyMicros(1)
                    .build();
        });
        Planner.plan(
                List.of(rank(0, "a"), rank(1, "a"), without(rank(2, "a"), "alpha", true)),
                List.of(alpha, always("beta", 1, 1)),
                BackendChoice.AUTO);
        assertThat(asked).as("once for like pairs").containsExactly("0>1");
    }

    @Test
    void withoutAnyBackendEveryPairIsCountedAndLikeOnesAreShownOnce() {
        assertThatThrownBy(() -> Planner.plan(oneHost(4), List.of(), BackendChoice.AUTO))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("12 pairs of ranks have no path:")
                .hasMessageContaining(
                        "rank 0 (a, pid 100, host:0) -> rank 1 (a, pid 101, host:0) and 11 like it: no backend on the class path; add a backend such as org.ep4j:backend-host")
                .hasMessageContaining("add a backend");
    }

    @Test
    void oneRankNeedsNoBackend() {
        GroupPlan plan = Planner.plan(oneHost(1), List.of(), BackendChoice.AUTO);
        assertThat(plan.path(0, 0).backend()).isEqualTo("local");
        assertThat(plan.backends()).isEmpty();
    }
}
