package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan.PairGroup;
import org.ep4j.plan.Planner.Candidate;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.topology.Locality;
import org.junit.jupiter.api.Tag;

/** What holds for groups of any layout. */
@Tag("verify")
class PlanPropertiesTest {
    /** Ranks of hosts with 1 to 5 ranks, some of which lack a backend, share a domain, or have another number of NICs. */
    private static List<RankProfile> group(long seed, int hosts) {
        Random random = new Random(seed);
        List<RankProfile> profiles = new ArrayList<>();
        for (int host = 0; host < hosts; host++) {
            int each = 1 + random.nextInt(2);
            boolean domain = random.nextInt(3) == 0;
            boolean noRdma = random.nextInt(4) == 0;
            String volume = "v" + random.nextInt(2);
            for (int i = 1 + random.nextInt(5); i > 0; i--) {
                Locality locality = Machines.ownNics(i % 3, 3, each);
                Map<String, BackendProfile> backends = new TreeMap<>();
                backends.put("ipc", BackendProfile.of(Map.of(), Map.of("boot", "b" + host, "volume", volume)));
                BackendProfile rdma = BackendProfile.of(Map.of("nics", "" + each), Map.of());
                backends.put("rdma", noRdma ? rdma.unusable("no driver", false) : rdma);
                backends.put("tcp", BackendProfile.of(Map.of(), Map.of()));
                RankProfile rank = Machines.rank(profiles.size(), "h" + host, locality, Map.of());
                profiles.add(rank.toBuilder()
                        .domain(domain ? "domain" + host / 2 : "")
                        .backends(backends)
                        .build());
            }
        }
        return profiles;
    }

    private static Offer ipc(RankProfile from, RankProfile to) {
        boolean host = from.hostId().equals(to.hostId());
        boolean domain = !from.domain().isEmpty() && from.domain().equals(to.domain());
        boolean volume = from.identity("ipc").equals(to.identity("ipc"));
        return host || domain
                ? Offer.path(EpPath.Kind.MAPPED)
                        .gigabytesPerSecond(volume ? 300 : 200)
                        .latencyMicros(1)
                        .build()
                : Offer.none("no shared memory", "");
    }

    private static Offer rdma(RankProfile from, RankProfile to) {
        double rate = 10
                * Math.min(from.locality().nics().size(), to.locality().nics().size());
        return Offer.path(EpPath.Kind.HOST_POSTED)
                .gigabytesPerSecond(rate)
                .latencyMicros(4)
                .nics(from.locality().nics().stream()
                        .map(nic -> nic.name() + ":1")
                        .toList())
                .build();
    }

    private static List<Candidate> candidates() {
        return new ArrayList<>(List.of(
                new Candidate("ipc", PlanPropertiesTest::ipc),
                new Candidate("rdma", PlanPropertiesTest::rdma),
                new Candidate(
                        "tcp",
                        (a, b) -> Offer.path(EpPath.Kind.HOST_POSTED)
                                .gigabytesPerSecond(1)
                                .latencyMicros(40)
                                .staged(true)
                                .build())));
    }

    private static GroupPlan plan(List<RankProfile> profiles) {
        return Planner.plan(profiles, candidates(), PlanOptions.AUTO);
    }

    @Property(tries = 200)
    void everyPairHasThePathThatItsOwnOffersGive(@ForAll long seed, @ForAll @IntRange(min = 1, max = 7) int hosts) {
        List<RankProfile> profiles = group(seed, hosts);
        GroupPlan plan = plan(profiles);
        for (EpPath path : plan.paths()) {
            RankProfile from = profiles.get(path.from());
            RankProfile to = profiles.get(path.to());
            if (from.equals(to)) {
                assertThat(path.backend()).isEqualTo(Planner.LOCAL);
            } else if (ipc(from, to).isPath()) {
                assertThat(plan.offer(path.from(), path.to())).isEqualTo(ipc(from, to));
                assertThat(path.lanes()).isEqualTo(1);
            } else if (usable(from) && usable(to)) {
                assertThat(plan.offer(path.from(), path.to())).isEqualTo(rdma(from, to));
                assertThat(path.nics()).isEqualTo(plan.nics(path.from())).isNotEmpty();
                assertThat(path.lanes())
                        .as("the two ends agree")
                        .isEqualTo(plan.path(path.to(), path.from()).lanes())
                        .isGreaterThanOrEqualTo(path.nics().size());
            } else {
                assertThat(path.backend()).isEqualTo("tcp");
                int broken = usable(from) ? path.to() : path.from();
                assertThat(path.rejected())
                        .contains("rdma: not usable on " + profiles.get(broken).label() + ": no driver");
            }
            assertThat(path.rejected()).hasSize(from.equals(to) ? 0 : 2);
        }
    }

    private static boolean usable(RankProfile profile) {
        return profile.backend("rdma").map(BackendProfile::usable).orElse(false);
    }

    @Property(tries = 100)
    void peerGroupsCountPeersByTheirPaths(@ForAll long seed, @ForAll @IntRange(min = 1, max = 7) int hosts) {
        GroupPlan plan = plan(group(seed, hosts));
        int[] labels = new Random(seed).ints(plan.ranks(), 0, 2).toArray();
        PeerGroups groups = plan.peerGroups(labels);
        for (int rank = 0; rank < plan.ranks(); rank++) {
            int from = rank;
            List<Integer> peers = IntStream.range(0, plan.ranks())
                    .filter(peer -> peer != from)
                    .boxed()
                    .toList();
            Map<List<Integer>, Long> expected = peers.stream()
                    .collect(Collectors.groupingBy(peer -> alike(plan, labels, from, peer), Collectors.counting()));
            Map<List<Integer>, Long> found = new HashMap<>();
            groups.forEach(rank, (peer, count) -> found.merge(alike(plan, labels, from, peer), count, Long::sum));
            assertThat(found).isEqualTo(expected);
            List<EpPath> paths =
                    peers.stream().map(peer -> plan.path(from, peer)).toList();
            List<EpPath> mapped = paths.stream()
                    .filter(path -> path.kind() == EpPath.Kind.MAPPED)
                    .toList();
            assertThat(plan.mappedPeers(rank))
                    .isEqualTo(mapped.stream().map(EpPath::to).toList());
            assertThat(plan.mappedBy(rank))
                    .isEqualTo(mapped.stream().map(EpPath::backend).collect(Collectors.toSet()));
            assertThat(plan.pathKinds(rank))
                    .isEqualTo(paths.stream().map(path -> path.kind()).collect(Collectors.toSet()));
        }
    }

    private static List<Integer> alike(GroupPlan plan, int[] labels, int rank, int peer) {
        return List.of(plan.kind(rank, peer), plan.kind(peer, rank), labels[peer]);
    }

    @Property(tries = 100)
    void likePairsAreCountedOnceAndUsersOfABackendAreThoseOnItsPaths(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 7) int hosts) {
        GroupPlan plan = plan(group(seed, hosts));
        Map<String, Long> pairs = new HashMap<>();
        Map<String, Set<Integer>> users = new HashMap<>();
        boolean hybrid = false;
        for (int from = 0; from < plan.ranks(); from++) {
            Set<EpPath.Kind> kinds = new HashSet<>();
            for (int to = 0; to < plan.ranks(); to++) {
                if (from != to) {
                    EpPath path = plan.path(from, to);
                    kinds.add(path.kind());
                    pairs.merge(path.backend(), 1L, Long::sum);
                    users.computeIfAbsent(path.backend(), k -> new HashSet<>()).addAll(List.of(from, to));
                }
            }
            hybrid |= kinds.contains(EpPath.Kind.MAPPED) && kinds.size() > 1;
        }
        Map<String, Long> counted = new HashMap<>();
        plan.groups().forEach(group -> counted.merge(group.example().backend(), group.pairs(), Long::sum));
        assertThat(counted).isEqualTo(pairs);
        assertThat(plan.backends()).containsExactlyInAnyOrderElementsOf(pairs.keySet());
        assertThat(plan.hybrid()).isEqualTo(hybrid);
        for (String backend : List.of("ipc", "rdma", "tcp")) {
            assertThat(plan.ranksUsing(backend))
                    .isSorted()
                    .containsExactlyInAnyOrderElementsOf(users.getOrDefault(backend, Set.of()));
        }
    }

    @Property(tries = 100)
    void theSameBytesGiveTheSamePlanInAnyOrderOfCandidates(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 6) int hosts) {
        List<RankProfile> profiles = group(seed, hosts);
        GroupPlan plan = plan(profiles);
        List<byte[]> bytes = profiles.stream().map(ProfileCodec::encode).toList();
        List<Candidate> shuffled = candidates();
        Collections.shuffle(shuffled, new Random(seed));
        GroupPlan other = Planner.plan(bytes.stream().map(ProfileCodec::decode).toList(), shuffled, PlanOptions.AUTO);
        assertThat(other).isEqualTo(plan).hasSameHashCodeAs(plan);
        assertThat(other.paths()).isEqualTo(plan.paths());
        assertThat(other.explain()).isEqualTo(plan.explain());
    }

    @Property(tries = 100)
    void aPlanIsRestoredFromItsPaths(@ForAll long seed, @ForAll @IntRange(min = 1, max = 6) int hosts) {
        GroupPlan plan = plan(group(seed, hosts));
        assertThat(GroupPlan.of(plan.profiles(), plan.paths()).paths()).isEqualTo(plan.paths());
    }

    @Property(tries = 100)
    void namesOfHostsDomainsAndIdentitiesDoNotMatter(@ForAll long seed, @ForAll @IntRange(min = 1, max = 6) int hosts) {
        List<RankProfile> profiles = group(seed, hosts);
        GroupPlan plan = plan(profiles);
        GroupPlan renamed =
                plan(profiles.stream().map(PlanPropertiesTest::renamed).toList());
        assertThat(renamed.groups().stream().map(PairGroup::pairs))
                .isEqualTo(plan.groups().stream().map(PairGroup::pairs).toList());
        for (int i = 0; i < plan.paths().size(); i++) {
            EpPath a = plan.paths().get(i);
            EpPath b = renamed.paths().get(i);
            assertThat(List.of(b.backend(), b.nics(), b.lanes())).isEqualTo(List.of(a.backend(), a.nics(), a.lanes()));
            assertThat(renamed.offer(b.from(), b.to())).isEqualTo(plan.offer(a.from(), a.to()));
        }
    }

    /** Names whose order is another one. */
    private static RankProfile renamed(RankProfile profile) {
        Map<String, BackendProfile> backends = new TreeMap<>();
        profile.backends().forEach((id, found) -> {
            Map<String, String> identity = new TreeMap<>();
            found.identity().forEach((fact, value) -> identity.put(fact, mirrored(value)));
            backends.put(id, found.withIdentity(identity));
        });
        return RankProfile.builder(profile.rank(), mirrored(profile.hostId()), profile.device())
                .hostName("other")
                .pid(profile.pid() + 7)
                .locality(profile.locality())
                .domain(mirrored(profile.domain()))
                .backends(backends)
                .settings(profile.settings())
                .build();
    }

    private static String mirrored(String text) {
        return text.isEmpty() ? "" : 999 - text.codePointAt(text.length() - 1) + text;
    }
}
