package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.Planner.Candidate;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Kernels post in one way to all peers of a GPU, so the best offers of all pairs may not fit together. */
@Tag("verify")
final class JointChoiceTest {
    private static final List<EpPath.Kind> KINDS =
            List.of(EpPath.Kind.MAPPED, EpPath.Kind.HOST_POSTED, EpPath.Kind.DEVICE_POSTED);
    private static final List<String> IDS = List.of("gin", "map", "rdma");

    /** A GPU that offers distinguish from all others. */
    private static RankProfile rank(int rank, String device) {
        return rank(rank, rank, device);
    }

    /** A GPU that offers distinguish from those with other numbers. */
    private static RankProfile rank(int rank, int number, String device) {
        Map<String, BackendProfile> backends = new TreeMap<>();
        IDS.forEach(id -> backends.put(id, BackendProfile.of(Map.of("number", Integer.toString(number)), Map.of())));
        return RankProfile.builder(rank, "host-" + rank, Device.parse(device))
                .pid(1)
                .backends(backends)
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

    private static Offer path(EpPath.Kind kind, double micros) {
        return Offer.path(kind)
                .gigabytesPerSecond(1000)
                .latencyMicros(micros)
                .nics(kind == EpPath.Kind.MAPPED ? List.of() : List.of("nic0:1"))
                .build();
    }

    private static Map<String, Offer> offers(long seed, int from, int to) {
        Random random = new Random(seed * 1_000_003 + from * 31L + to * 1009L);
        random.nextInt();
        Map<String, Offer> all = new TreeMap<>();
        for (int i = 0; i < IDS.size(); i++) {
            if (random.nextInt(4) > 0) {
                all.put(IDS.get(i), path(KINDS.get(random.nextInt(KINDS.size())), 1 + random.nextInt(20)));
            }
        }
        return all;
    }

    /** The least total of the times of one way of posting, with memory mapped by one backend; empty where some pair has no path both ways. */
    private static Optional<Double> least(long seed, int ranks, int each, EpPath.Kind way) {
        double least = Double.POSITIVE_INFINITY;
        for (String backend : IDS) {
            double total = 0;
            for (int one = 0; one < ranks; one++) {
                for (int other = one + 1; other < ranks; other++) {
                    int from = one / each;
                    int to = other / each;
                    total += Math.min(
                            micros(seed, from, to, way, IDS) + micros(seed, to, from, way, IDS),
                            micros(seed, from, to, EpPath.Kind.MAPPED, List.of(backend))
                                    + micros(seed, to, from, EpPath.Kind.MAPPED, List.of(backend)));
                }
            }
            least = Math.min(least, total);
        }
        return Double.isInfinite(least) ? Optional.empty() : Optional.of(least);
    }

    private static double micros(long seed, int from, int to, EpPath.Kind kind, List<String> backends) {
        return offers(seed, from, to).entrySet().stream()
                .filter(offer -> offer.getValue().kind() == kind && backends.contains(offer.getKey()))
                .mapToDouble(offer -> Objective.BALANCED.micros(offer.getValue()))
                .min()
                .orElse(Double.POSITIVE_INFINITY);
    }

    @Property(tries = 500)
    void aPlanCanBeRunAndCostsLeastOrNoneCan(
            @ForAll long seed,
            @ForAll @IntRange(min = 2, max = 6) int ranks,
            @ForAll @IntRange(min = 1, max = 3) int each) {
        GroupPlan plan;
        try {
            plan = plan(ranks, each, (from, to) -> offers(seed, from, to));
        } catch (EpUnavailableException e) {
            assertThat(least(seed, ranks, each, EpPath.Kind.DEVICE_POSTED)).isEmpty();
            assertThat(least(seed, ranks, each, EpPath.Kind.HOST_POSTED)).isEmpty();
            return;
        }
        double total = 0;
        for (int from = 0; from < ranks; from++) {
            Set<EpPath.Kind> ways = EnumSet.noneOf(EpPath.Kind.class);
            Set<String> mapped = new HashSet<>();
            for (int to = 0; to < ranks; to++) {
                Offer offer = plan.offer(from, to);
                assertThat(plan.pathKind(to, from)).isEqualTo(offer.kind());
                if (from != to) {
                    ways.add(offer.kind());
                    if (offer.kind() == EpPath.Kind.MAPPED) {
                        mapped.add(plan.path(from, to).backend());
                        mapped.add(plan.path(to, from).backend());
                    }
                    total += Objective.BALANCED.micros(offer);
                }
            }
            ways.remove(EpPath.Kind.MAPPED);
            assertThat(ways).as("ways in which rank %d posts", from).hasSizeLessThan(2);
            assertThat(mapped).as("backends whose memory rank %d maps", from).hasSizeLessThan(2);
        }
        double least = Math.min(
                least(seed, ranks, each, EpPath.Kind.DEVICE_POSTED).orElse(Double.POSITIVE_INFINITY),
                least(seed, ranks, each, EpPath.Kind.HOST_POSTED).orElse(Double.POSITIVE_INFINITY));
        // Islands that post in different ways cost less than all in one way.
        assertThat(total).isLessThanOrEqualTo(least + 1e-6);
    }

    /** GPU 2 has no NIC that reaches its memory. */
    private static Map<String, Offer> partly(int from, int to) {
        return from == 2 || to == 2
                ? Map.of("rdma", path(EpPath.Kind.HOST_POSTED, 20))
                : Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 5), "rdma", path(EpPath.Kind.HOST_POSTED, 20));
    }

    @Test
    void theBetterOfferThatWasLeftNamesThePairThatItDoesNotReach() {
        GroupPlan plan = plan(4, JointChoiceTest::partly);
        assertThat(plan.backends()).containsExactly("rdma");
        assertThat(plan.path(0, 1).rejected())
                .anyMatch(
                        why -> why.equals(
                                "gin: kernels of a GPU must post to all of its peers in the same way, and device-posted does not"
                                        + " reach rank 2 (host-2, pid 1, cuda:0) from rank 0 (host-0, pid 1, cuda:0) (6 such pairs)"));
    }

    @Test
    void theBetterOfferThatWasLeftSaysWhatItCostsTheOthers() {
        GroupPlan plan = plan(
                3,
                (from, to) -> from == 2 || to == 2
                        ? Map.of(
                                "gin", path(EpPath.Kind.DEVICE_POSTED, 50),
                                "rdma", path(EpPath.Kind.HOST_POSTED, 10))
                        : Map.of(
                                "gin", path(EpPath.Kind.DEVICE_POSTED, 5),
                                "rdma", path(EpPath.Kind.HOST_POSTED, 10)));
        assertThat(plan.backends()).containsExactly("rdma");
        assertThat(plan.path(0, 1).rejected())
                .anyMatch(why -> why.startsWith(
                        "gin: kernels of a GPU must post to all of its peers in the same way, and device-posted would"
                                + " take 35.0 us a row against 10.0 us on average"));
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
    void whereNoWayReachesAllBothPairsAreNamed() {
        assertThatThrownBy(() -> plan(
                        3,
                        (from, to) -> from == 2 || to == 2
                                ? Map.of("rdma", path(EpPath.Kind.HOST_POSTED, 10))
                                : Map.of("gin", path(EpPath.Kind.DEVICE_POSTED, 5))))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(
                        "device-posted does not reach rank 2",
                        "host-posted does not reach rank 1 (host-1, pid 1, cuda:0) from rank 0",
                        "leave out the GPUs that NICs do not reach");
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
