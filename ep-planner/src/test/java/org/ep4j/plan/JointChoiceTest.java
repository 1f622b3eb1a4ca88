package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Planner.Candidate;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Offers fit together: one kind of path in both directions, one backend that maps a rank, and memory of GPUs that NICs reach. */
@Tag("verify")
final class JointChoiceTest {
    private static final List<EpPath.Kind> KINDS =
            List.of(EpPath.Kind.MAPPED, EpPath.Kind.HOST_POSTED, EpPath.Kind.DEVICE_POSTED);
    private static final List<String> IDS = List.of("gin", "map", "rdma");
    private static final String REACHED =
            "a GPU cannot combine device-posted paths with host-posted paths over NICs that do not reach its memory, and ";

    /** A GPU that offers distinguish from all others. */
    private static RankProfile rank(int rank, String device) {
        return rank(rank, rank, device);
    }

    /** A GPU that offers distinguish from those with other numbers. */
    private static RankProfile rank(int rank, int number, String device) {
        return rank(rank, number, device, "auto");
    }

    private static RankProfile rank(int rank, int number, String device, String window) {
        Map<String, BackendProfile> backends = new TreeMap<>();
        IDS.forEach(id -> backends.put(id, BackendProfile.of(Map.of("number", Integer.toString(number)), Map.of())));
        return RankProfile.builder(rank, "host-" + rank, Device.parse(device))
                .pid(1)
                .backends(backends)
                .settings(Map.of(EpKeys.GPU_WINDOW.name(), window))
                .build();
    }

    private static int number(RankProfile profile) {
        return Integer.parseInt(profile.facts("map").getOrDefault("number", ""));
    }

    private static GroupPlan plan(int ranks, BiFunction<Integer, Integer, Map<String, Offer>> offers) {
        return plan(ranks, 1, offers);
    }

    /** With so many ranks of each number. */
    private static GroupPlan plan(int ranks, int each, BiFunction<Integer, Integer, Map<String, Offer>> offers) {
        List<RankProfile> profiles = IntStream.range(0, ranks)
                .mapToObj(r -> rank(r, r / each, "cuda:0"))
                .toList();
        return Planner.plan(profiles, candidates(offers), BackendChoice.AUTO);
    }

    private static List<Candidate> candidates(BiFunction<Integer, Integer, Map<String, Offer>> offers) {
        return IDS.stream()
                .map(id -> new Candidate(
                        id,
                        (a, b) -> Optional.ofNullable(
                                        offers.apply(number(a), number(b)).get(id))
                                .orElse(Offer.none("no link", ""))))
                .toList();
    }

    /** A detour takes longer than any other path. */
    private static Offer staged(double micros) {
        return path(EpPath.Kind.HOST_POSTED, 100 + micros).toBuilder()
                .staged(true)
                .build();
    }

    private static Offer path(EpPath.Kind kind, double micros) {
        return Offer.path(kind)
                .gigabytesPerSecond(1000)
                .latencyMicros(micros)
                .nics(kind == EpPath.Kind.MAPPED ? List.of() : List.of("nic0:1"))
                .build();
    }

    /** What GPUs of two numbers are offered; host-posted paths of a part of them are staged. */
    private record Offered(long seed, boolean detours) {
        Map<String, Offer> offers(int from, int to) {
            Random random = new Random(seed * 1_000_003 + from * 31L + to * 1009L);
            random.nextInt();
            Map<String, Offer> all = new TreeMap<>();
            for (String id : IDS) {
                if (random.nextInt(4) > 0) {
                    Offer offer = path(KINDS.get(random.nextInt(KINDS.size())), 1 + random.nextInt(20));
                    boolean detour = detours && random.nextBoolean() && offer.kind() == EpPath.Kind.HOST_POSTED;
                    all.put(id, detour ? staged(offer.latencyMicros()) : offer);
                }
            }
            return all;
        }

        /** Returns whether the NICs of a backend reach the memory of GPUs, as some path shows. */
        boolean reaches(String backend, int number, int ranks, int each) {
            return IntStream.rangeClosed(0, (ranks - 1) / each)
                    .filter(other -> other != number || (each > 1 && ranks > number * each + 1))
                    .boxed()
                    .flatMap(other -> Stream.of(offers(number, other), offers(other, number)))
                    .flatMap(offers -> Stream.ofNullable(offers.get(backend)))
                    .anyMatch(offer -> offer.kind() == EpPath.Kind.HOST_POSTED && !offer.staged());
        }

        /** The least total of the times, with memory mapped by one backend; empty where some pair has no path both ways. */
        Optional<Double> least(int ranks, int each, Predicate<Offer> wanted) {
            double least = Double.POSITIVE_INFINITY;
            for (String backend : IDS) {
                double total = 0;
                for (int one = 0; one < ranks; one++) {
                    for (int other = one + 1; other < ranks; other++) {
                        total += bothWays(one / each, other / each, List.of(backend), wanted);
                    }
                }
                least = Math.min(least, total);
            }
            return Double.isInfinite(least) ? Optional.empty() : Optional.of(least);
        }

        /** The least time of both paths of a pair, which are of one kind. */
        double bothWays(int from, int to, List<String> mapping, Predicate<Offer> wanted) {
            double least = Double.POSITIVE_INFINITY;
            for (EpPath.Kind kind : KINDS) {
                List<String> backends = kind == EpPath.Kind.MAPPED ? mapping : IDS;
                Predicate<Offer> offers = wanted.and(offer -> offer.kind() == kind);
                least = Math.min(least, micros(from, to, offers, backends) + micros(to, from, offers, backends));
            }
            return least;
        }

        private double micros(int from, int to, Predicate<Offer> wanted, List<String> backends) {
            return offers(from, to).entrySet().stream()
                    .filter(offer -> wanted.test(offer.getValue()) && backends.contains(offer.getKey()))
                    .mapToDouble(offer -> Objective.BALANCED.micros(offer.getValue()))
                    .min()
                    .orElse(Double.POSITIVE_INFINITY);
        }
    }

    @Property(tries = 500)
    void aPlanCanBeRunAndCostsLeastOrNoneCan(
            @ForAll long seed,
            @ForAll boolean detours,
            @ForAll @IntRange(min = 2, max = 6) int ranks,
            @ForAll @IntRange(min = 1, max = 3) int each) {
        Offered offered = new Offered(seed, detours);
        // Without detours, all of them are the same.
        List<Predicate<Offer>> ways = detours
                ? List.of(offer -> offer.kind() != EpPath.Kind.DEVICE_POSTED, offer -> !offer.staged())
                : List.of(offer -> true);
        List<Double> least = ways.stream()
                .flatMap(wanted -> offered.least(ranks, each, wanted).stream())
                .toList();
        GroupPlan plan;
        try {
            plan = plan(ranks, each, offered::offers);
        } catch (EpUnavailableException e) {
            assertThat(least).isEmpty();
            return;
        }
        double total = 0;
        for (int from = 0; from < ranks; from++) {
            Set<String> mapped = new HashSet<>();
            for (int to = 0; to < ranks; to++) {
                Offer offer = plan.offer(from, to);
                assertThat(plan.pathKind(to, from)).isEqualTo(offer.kind());
                if (from != to) {
                    if (offer.kind() == EpPath.Kind.MAPPED) {
                        mapped.add(plan.path(from, to).backend());
                        mapped.add(plan.path(to, from).backend());
                    }
                    double there = Objective.BALANCED.micros(offer);
                    if (!detours) {
                        assertThat(there + Objective.BALANCED.micros(plan.offer(to, from)))
                                .as("both paths of ranks %d and %d, which could be posted", from, to)
                                .isLessThanOrEqualTo(
                                        offered.bothWays(from / each, to / each, List.of(), one -> true) + 1e-6);
                    }
                    total += there;
                }
            }
            assertThat(mapped).as("backends whose memory rank %d maps", from).hasSizeLessThan(2);
            if (plan.pathKinds(from).contains(EpPath.Kind.DEVICE_POSTED)) {
                assertReached(plan, from, each, offered);
            }
        }
        // Islands that different backends map cost less than all mapped by one.
        assertThat(total)
                .isLessThanOrEqualTo(
                        least.stream().mapToDouble(one -> one).min().orElse(Double.POSITIVE_INFINITY) + 1e-6);
    }

    /** The NICs of a GPU whose kernels post reach its memory; detours are at peers. */
    private static void assertReached(GroupPlan plan, int rank, int each, Offered offered) {
        for (int peer = 0; peer < plan.ranks(); peer++) {
            for (EpPath path : List.of(plan.path(rank, peer), plan.path(peer, rank))) {
                if (path.kind() == EpPath.Kind.HOST_POSTED && path.staged()) {
                    assertThat(offered.reaches(path.backend(), rank / each, plan.ranks(), each))
                            .as("%s reaches rank %d", path.backend(), rank)
                            .isTrue();
                    assertThat(offered.reaches(path.backend(), peer / each, plan.ranks(), each))
                            .as("%s reaches rank %d", path.backend(), peer)
                            .isFalse();
                }
            }
        }
    }

    /** GPU 2 has no NIC that reaches its memory. */
    private static Map<String, Offer> partly(int from, int to) {
        return from == 2 || to == 2
                ? Map.of("rdma", staged(20))
                : Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 5), "rdma", path(EpPath.Kind.HOST_POSTED, 20));
    }

    @Test
    void aGpuPostsToSomePeersItselfAndToOthersFromTheHost() {
        GroupPlan plan = plan(4, JointChoiceTest::partly);
        assertThat(plan.pathKinds(0)).containsExactly(EpPath.Kind.DEVICE_POSTED, EpPath.Kind.HOST_POSTED);
        assertThat(plan.pathKinds(2)).containsExactly(EpPath.Kind.HOST_POSTED);
        assertThat(plan.pathKind(0, 1)).isEqualTo(EpPath.Kind.DEVICE_POSTED);
        assertThat(IntStream.range(0, 4).map(plan::proxies)).allMatch(threads -> threads > 0);
        assertThat(plan(3, (from, to) -> partly(0, 1)).proxies(0)).isZero();
    }

    /** As over sockets, from whose NICs no memory of a GPU is reached. */
    @Test
    void kernelsDoNotPostWhereHostThreadsNeedMemoryOfTheHost() {
        GroupPlan plan = plan(
                4,
                (from, to) -> from == 2 || to == 2
                        ? Map.of("rdma", staged(20))
                        : Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 5), "rdma", staged(20)));
        assertThat(plan.backends()).containsExactly("rdma");
        assertThat(plan.path(0, 1).rejected())
                .contains("gin: " + REACHED + "no other path connects rank 0 (host-0, pid 1, cuda:0) to rank 2"
                        + " (host-2, pid 1, cuda:0) (6 such pairs)");
    }

    @ParameterizedTest
    @CsvSource({"cuda:0, host, false", "cuda:0, device, true", "hip:0, auto, false", "hip:0, device, true"})
    void kernelsDoNotPostWhereNicsMustNotUseTheMemoryOfTheGpu(String device, String window, boolean posts) {
        List<RankProfile> profiles = IntStream.range(0, 4)
                .mapToObj(rank -> rank == 3 ? rank(rank, rank, device, window) : rank(rank, rank, "cuda:0", "auto"))
                .toList();
        GroupPlan plan = Planner.plan(profiles, candidates(JointChoiceTest::partly), BackendChoice.AUTO);
        assertThat(plan.pathKinds(3).contains(EpPath.Kind.DEVICE_POSTED)).isEqualTo(posts);
        assertThat(plan.path(3, 0).rejected().stream().anyMatch(why -> why.startsWith("gin: " + REACHED)))
                .isNotEqualTo(posts);
        assertThat(plan.pathKinds(0)).containsExactly(EpPath.Kind.DEVICE_POSTED, EpPath.Kind.HOST_POSTED);
    }

    @ParameterizedTest
    @CsvSource({"25, gin, rdma", "45, rdma, gin"})
    void kernelsOrHostThreadsPostForAllWhicheverCostsLess(double far, String taken, String left) {
        List<RankProfile> profiles = IntStream.range(0, 3)
                .mapToObj(rank -> rank(rank, rank, "cuda:0", "host"))
                .toList();
        GroupPlan plan = Planner.plan(
                profiles,
                candidates((from, to) -> Map.of(
                        "gin", path(EpPath.Kind.DEVICE_POSTED, from == 2 || to == 2 ? far : 5),
                        "rdma", path(EpPath.Kind.HOST_POSTED, 20))),
                BackendChoice.AUTO);
        assertThat(plan.backends()).containsExactly(taken);
        assertThat(plan.path(0, left.equals("gin") ? 1 : 2).rejected())
                .contains(left + ": " + REACHED + "the paths chosen are the best for all pairs together");
    }

    /** Rank 0 has to post from the host, so rank 1 has to, and then rank 3. */
    @Test
    void peersOfAGpuWhoseKernelsDoNotPostPostFromTheHostToo() {
        Set<Set<Integer>> kernels = Set.of(Set.of(0, 1), Set.of(1, 3));
        Map<String, Offer> both = Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 5), "rdma", staged(1));
        GroupPlan plan = plan(
                4,
                (from, to) -> Set.of(from, to).equals(Set.of(0, 2))
                        ? Map.of("rdma", staged(1))
                        : kernels.contains(Set.of(from, to)) ? both : Map.of("map", path(EpPath.Kind.MAPPED, 5)));
        assertThat(plan.pathKinds(1)).containsExactly(EpPath.Kind.MAPPED, EpPath.Kind.HOST_POSTED);
        assertThat(plan.pathKinds(3)).containsExactly(EpPath.Kind.MAPPED, EpPath.Kind.HOST_POSTED);
    }

    /** The preferred backend does not connect all. */
    @Test
    void pathsOverNicsThatDoNotReachAGpuAreLeftWhereItsKernelsMustPost() {
        BiFunction<Integer, Integer, Map<String, Offer>> offers = (from, to) -> from / 2 == to / 2
                ? Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 5))
                : Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 50), "rdma", staged(1));
        List<RankProfile> profiles = List.of(rank(0, "cuda:0"), rank(1, "cuda:0"), rank(2, "cuda:0"));
        BackendChoice choice = new BackendChoice(List.of(), List.of("rdma"), List.of());
        GroupPlan plan = Planner.plan(profiles, candidates(offers), choice);
        assertThat(plan.backends()).containsExactly("gin");
        assertThat(plan.path(0, 2).rejected())
                .contains("rdma: " + REACHED + "no other path connects rank 0 (host-0, pid 1, cuda:0) to rank 1"
                        + " (host-1, pid 1, cuda:0) (2 such pairs)");
    }

    @Test
    void whereNeitherKernelsNorHostThreadsCanPostForAllBothPairsAreNamed() {
        assertThatThrownBy(() -> plan(
                        3,
                        (from, to) -> from == 2 || to == 2
                                ? Map.of("rdma", staged(1))
                                : Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 5))))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(
                        REACHED,
                        "no other path connects rank 0 (host-0, pid 1, cuda:0) to rank 1",
                        "no other path connects rank 0 (host-0, pid 1, cuda:0) to rank 2",
                        "add a backend that connects these pairs");
    }

    @Test
    void theKindOfPathIsTheBestForBothDirectionsTogether() {
        GroupPlan plan = plan(
                2,
                (from, to) -> Map.of(
                        "gin", path(EpPath.Kind.DEVICE_POSTED, from == 0 ? 5 : 50),
                        "rdma", path(EpPath.Kind.HOST_POSTED, 10)));
        assertThat(plan.backends()).containsExactly("rdma");
        assertThat(plan.path(0, 1).rejected())
                .contains("gin: two GPUs must use the same kind of path in both directions,"
                        + " and another kind is better for both directions together");
    }

    @Test
    void aPairThatIsMappedOneWayAloneIsPostedBothWays() {
        GroupPlan plan = plan(
                2,
                (from, to) -> from == 0
                        ? Map.of("map", path(EpPath.Kind.MAPPED, 1), "rdma", path(EpPath.Kind.HOST_POSTED, 10))
                        : Map.of("rdma", path(EpPath.Kind.HOST_POSTED, 10)));
        assertThat(plan.backends()).containsExactly("rdma");
        assertThat(plan.path(0, 1).rejected())
                .anyMatch(why -> why.contains("map: two GPUs must use the same kind of path in both directions,"
                        + " and the opposite direction has no path of this kind"));
    }

    /** As GPUs of two sockets: those of one map each other over PCIe, all of them map memory of the host. */
    @Test
    void memoryOfARankIsMappedByOneBackend() {
        GroupPlan plan = plan(
                4,
                (from, to) -> from / 2 == to / 2
                        ? Map.of("map", path(EpPath.Kind.MAPPED, 2), "rdma", path(EpPath.Kind.MAPPED, 4))
                        : Map.of("rdma", path(EpPath.Kind.MAPPED, 4), "gin", path(EpPath.Kind.HOST_POSTED, 30)));
        assertThat(plan.backends()).containsExactly("rdma");
        assertThat(plan.path(0, 1).rejected())
                .anyMatch(
                        why -> why.startsWith("map: all peers of a rank must map its memory through the same backend"));
    }

    @Test
    void aPairWithoutAKindOfPathForBothDirectionsIsNamed() {
        assertThatThrownBy(() -> plan(
                        3,
                        (from, to) -> from < to
                                ? Map.of("rdma", path(EpPath.Kind.HOST_POSTED, 10))
                                : Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 5))))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("two GPUs must use the same kind of path in both directions, and no kind of path"
                        + " connects rank 0 (host-0, pid 1, cuda:0) to rank 1 (host-1, pid 1, cuda:0) (6 such pairs)");
    }

    @Test
    void whereNoBackendMapsAllPairsThoseOfEachAreNamed() {
        assertThatThrownBy(() -> plan(
                        3,
                        (from, to) -> from == 2 || to == 2
                                ? Map.of("rdma", path(EpPath.Kind.MAPPED, 10))
                                : Map.of("map", path(EpPath.Kind.MAPPED, 5))))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(
                        "all peers of a rank must map its memory through the same backend",
                        "map does not connect rank 0 (host-0, pid 1, cuda:0) to rank 2 (host-2,",
                        "rdma does not connect rank 0 (host-0, pid 1, cuda:0) to rank 1 (host-1,",
                        "(2 such pairs)",
                        "add a backend that connects these pairs");
    }

    @Test
    void aGpuAndARankOnTheHostAreNotPostedTo() {
        List<RankProfile> profiles = new ArrayList<>(List.of(rank(0, "cuda:0"), rank(1, "host:0")));
        assertThatThrownBy(() -> Planner.plan(
                        profiles,
                        candidates((from, to) -> Map.of("rdma", path(EpPath.Kind.HOST_POSTED, 10))),
                        BackendChoice.AUTO))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("one of the two ranks uses a GPU and the other the host");
        assertThatThrownBy(() -> Planner.plan(
                        List.of(rank(0, "host:0"), rank(1, "host:0")),
                        candidates((from, to) -> Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 10))),
                        BackendChoice.AUTO))
                .hasMessageContaining("ranks on the host have no GPU that could post");
    }
}
