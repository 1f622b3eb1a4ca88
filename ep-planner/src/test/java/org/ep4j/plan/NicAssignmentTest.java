package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.ep4j.plan.NicAssignment.Request;
import org.ep4j.plan.NicAssignment.Share;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class NicAssignmentTest {
    private static final List<PathType> TYPES =
            List.of(PathType.PIX, PathType.PXB, PathType.P2C, PathType.PHB, PathType.NODE, PathType.SYS);

    private static Request request(Locality locality) {
        List<String> ports = locality.nics().stream()
                .flatMap(nic -> nic.ports().stream().map(port -> nic.name() + ":" + port.number()))
                .toList();
        return new Request(locality, ports, false);
    }

    /** GPUs and what each is near to, as {@code PIX} lists; every other NIC has the type {@code far}. */
    private static List<Request> gpus(int nics, PathType nearest, PathType far, List<List<Integer>> near) {
        List<Request> requests = new ArrayList<>();
        for (int gpu = 0; gpu < near.size(); gpu++) {
            List<NicReach> reach = new ArrayList<>();
            for (int nic = 0; nic < nics; nic++) {
                reach.add(Machines.nic("mlx5_" + nic, near.get(gpu).contains(nic) ? nearest : far));
            }
            requests.add(request(Machines.gpu(gpu, reach)));
        }
        return requests;
    }

    private static List<List<String>> ports(List<Request> requests) {
        return NicAssignment.assign(requests).stream().map(Share::ports).toList();
    }

    private static List<String> reasons(List<Request> requests) {
        return NicAssignment.assign(requests).stream().map(Share::reason).toList();
    }

    private static List<List<Integer>> all(int gpus, int nics) {
        return Collections.nCopies(gpus, IntStream.range(0, nics).boxed().toList());
    }

    /** Ranks on processors, which are equally near to all NICs; NIC {@code i} is in network {@code i / each}. */
    private static List<Request> processors(int ranks, int networks, int each) {
        List<NicReach> nics = new ArrayList<>();
        for (int nic = 0; nic < networks * each; nic++) {
            nics.add(Machines.nic("rxe" + nic, PathType.PHB, "10.99." + nic / each + ".0/24"));
        }
        return Collections.nCopies(ranks, request(Machines.gpu(-1, nics)));
    }

    @Test
    void everyRankHasAPortInEachNetwork() {
        List<Request> two = processors(2, 2, 2);
        assertThat(ports(two)).containsExactly(List.of("rxe0:1", "rxe2:1"), List.of("rxe1:1", "rxe3:1"));
        assertThat(reasons(two)).containsOnly("2 of 4 nearest (PHB) of 2 networks, not shared");
        List<Request> four = processors(4, 2, 2);
        assertThat(ports(four))
                .containsExactly(
                        List.of("rxe0:1", "rxe2:1"),
                        List.of("rxe0:1", "rxe2:1"),
                        List.of("rxe1:1", "rxe3:1"),
                        List.of("rxe1:1", "rxe3:1"));
        assertThat(reasons(four)).containsOnly("nearest (PHB) of 2 networks, shared by 2 ranks");
        assertThat(ports(processors(1, 3, 1))).containsExactly(List.of("rxe0:1", "rxe1:1", "rxe2:1"));
    }

    @Property
    void aRankReachesEveryOtherInEachNetwork(
            @ForAll @IntRange(min = 1, max = 6) int ranks,
            @ForAll @IntRange(min = 1, max = 4) int networks,
            @ForAll @IntRange(min = 1, max = 4) int each) {
        assertThat(ports(processors(ranks, networks, each)))
                .allSatisfy(mine -> assertThat(mine.stream()
                                .map(port -> Integer.parseInt(port.substring(3, port.length() - 2)) / each)
                                .distinct())
                        .hasSize(networks));
    }

    /** Nearness goes before: a rail of each GPU stays its own, whatever network it is. */
    @Test
    void farNicsOfOtherNetworksAreLeftAlone() {
        List<Request> requests = new ArrayList<>();
        for (int gpu = 0; gpu < 4; gpu++) {
            List<NicReach> nics = new ArrayList<>();
            for (int nic = 0; nic < 4; nic++) {
                nics.add(
                        Machines.nic("mlx5_" + nic, nic == gpu ? PathType.PIX : PathType.SYS, "10.0." + nic + ".0/24"));
            }
            requests.add(request(Machines.gpu(gpu, nics)));
        }
        assertThat(ports(requests))
                .containsExactly(List.of("mlx5_0:1"), List.of("mlx5_1:1"), List.of("mlx5_2:1"), List.of("mlx5_3:1"));
    }

    @Test
    void everyGpuGetsTheNicBesideIt() {
        List<Request> requests = gpus(
                8,
                PathType.PIX,
                PathType.SYS,
                IntStream.range(0, 8).mapToObj(List::of).toList());
        assertThat(ports(requests))
                .isEqualTo(IntStream.range(0, 8)
                        .mapToObj(i -> List.of("mlx5_" + i + ":1"))
                        .toList());
        assertThat(reasons(requests)).containsOnly("nearest (PIX)");
    }

    @Test
    void portsThatTheUserFixedAreLeftAloneWhereOthersAreAsNear() {
        List<Request> free = gpus(2, PathType.PIX, PathType.SYS, all(2, 2));
        Request fixed = new Request(free.get(0).locality(), List.of("mlx5_0:1"), true);
        assertThat(ports(List.of(fixed, free.get(1)))).containsExactly(List.of("mlx5_0:1"), List.of("mlx5_1:1"));
        Request both = new Request(free.get(0).locality(), List.of("mlx5_0:1", "mlx5_1:1"), true);
        assertThat(NicAssignment.assign(List.of(both, free.get(1))).get(1).reason())
                .contains("shared by 2 ranks");
    }

    @Test
    void allFourNearNicsOfAGpuAreItsOwn() {
        List<Request> requests = IntStream.range(0, 8)
                .mapToObj(gpu -> request(Machines.ownNics(gpu, 8, 4)))
                .toList();
        assertThat(ports(requests).get(2)).containsExactly("mlx5_8:1", "mlx5_9:1", "mlx5_10:1", "mlx5_11:1");
        assertThat(reasons(requests)).containsOnly("all 4 nearest (PIX)");
    }

    @Test
    void fourNicsNearTwoGpusAreHalved() {
        List<Request> requests = gpus(4, PathType.PIX, PathType.SYS, all(2, 4));
        assertThat(ports(requests)).containsExactly(List.of("mlx5_0:1", "mlx5_1:1"), List.of("mlx5_2:1", "mlx5_3:1"));
        assertThat(reasons(requests)).containsOnly("2 of 4 nearest (PIX), not shared");
    }

    @Test
    void twoNicsNearFourGpusServeTwoEach() {
        List<Request> requests = gpus(2, PathType.PIX, PathType.SYS, all(4, 2));
        assertThat(ports(requests))
                .containsExactly(List.of("mlx5_0:1"), List.of("mlx5_0:1"), List.of("mlx5_1:1"), List.of("mlx5_1:1"));
        assertThat(reasons(requests)).containsOnly("nearest (PIX), shared by 2 ranks");
    }

    @Test
    void fiveGpusShareFourNicsWithoutLeavingOneIdle() {
        assertThat(ports(gpus(4, PathType.PHB, PathType.SYS, all(5, 4))))
                .containsExactly(
                        List.of("mlx5_0:1"),
                        List.of("mlx5_0:1"),
                        List.of("mlx5_1:1"),
                        List.of("mlx5_2:1"),
                        List.of("mlx5_3:1"));
    }

    @Test
    void whereAllNicsLookAlikeEveryGpuStillHasItsOwn() {
        assertThat(ports(gpus(8, PathType.PHB, PathType.SYS, all(8, 8))))
                .isEqualTo(IntStream.range(0, 8)
                        .mapToObj(i -> List.of("mlx5_" + i + ":1"))
                        .toList());
    }

    @Test
    void withoutATopologyCandidatesAreSpreadAllTheSame() {
        List<String> candidates = List.of("rdmap10s0:1", "rdmap2s0:1");
        List<Request> requests = List.of(
                new Request(Locality.UNKNOWN, candidates, false), new Request(Locality.UNKNOWN, candidates, false));
        assertThat(ports(requests)).containsExactly(List.of("rdmap2s0:1"), List.of("rdmap10s0:1"));
        assertThat(reasons(requests)).containsOnly("1 of 2 nearest (distance unknown), not shared");
    }

    @Test
    void overlappingNeighbourhoodsAreMatched() {
        // GPU 0 could take NIC 0, the only one that GPU 1 is near to.
        assertThat(ports(gpus(3, PathType.PXB, PathType.SYS, List.of(List.of(0, 1), List.of(0), List.of(1, 2)))))
                .containsExactly(List.of("mlx5_1:1"), List.of("mlx5_0:1"), List.of("mlx5_2:1"));
    }

    @Test
    void bothPortsOfADualPortCardAreUsed() {
        List<Request> requests = new ArrayList<>();
        for (int gpu = 0; gpu < 2; gpu++) {
            List<NicReach> nics = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                // Names go round the cards: 0 and 2 are ports of one card.
                PathType type = i % 2 == gpu ? PathType.PIX : PathType.NODE;
                nics.add(Machines.nic("mlx5_" + i, "card" + i % 2, type, 200, 48));
            }
            requests.add(request(Machines.gpu(gpu, nics)));
        }
        assertThat(ports(requests)).containsExactly(List.of("mlx5_0:1", "mlx5_2:1"), List.of("mlx5_1:1", "mlx5_3:1"));
    }

    @Test
    void portsOfOneCardStayTogether() {
        List<Request> requests = new ArrayList<>();
        for (int gpu = 0; gpu < 2; gpu++) {
            List<NicReach> nics = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                nics.add(Machines.nic("mlx5_" + i, "card" + i % 2, PathType.PHB, 200, 48));
            }
            requests.add(request(Machines.gpu(gpu, nics)));
        }
        assertThat(ports(requests)).containsExactly(List.of("mlx5_0:1", "mlx5_2:1"), List.of("mlx5_1:1", "mlx5_3:1"));
    }

    @Test
    void aSlowPortIsNotStripedOverWithAFastOne() {
        List<NicReach> nics = List.of(
                Machines.nic("mlx5_0", "a", PathType.PIX, 100, 48), Machines.nic("mlx5_1", "b", PathType.PIX, 400, 48));
        assertThat(ports(List.of(request(Machines.gpu(0, nics))))).containsExactly(List.of("mlx5_1:1"));
    }

    @Test
    void portsOfDifferentRatesAreSharedByTheirRates() {
        List<NicReach> nics = List.of(
                Machines.nic("mlx5_0", "a", PathType.PHB, 100, 48), Machines.nic("mlx5_1", "b", PathType.PHB, 200, 48));
        List<List<String>> ports = ports(IntStream.range(0, 9)
                .mapToObj(gpu -> request(Machines.gpu(gpu, nics)))
                .toList());
        assertThat(Collections.frequency(ports, List.of("mlx5_0:1"))).isEqualTo(3);
        assertThat(Collections.frequency(ports, List.of("mlx5_1:1"))).isEqualTo(6);
    }

    @Test
    void aFarNicIsNeverOneOfSeveral() {
        assertThat(ports(gpus(2, PathType.PIX, PathType.PXB, List.of(List.of(0)))))
                .containsExactly(List.of("mlx5_0:1"));
    }

    @Test
    void aRankOnASharedNicMovesToAnIdleFartherOne() {
        List<Request> requests = gpus(2, PathType.PIX, PathType.PXB, List.of(List.of(0), List.of(0)));
        assertThat(ports(requests)).containsExactly(List.of("mlx5_0:1"), List.of("mlx5_1:1"));
        assertThat(reasons(requests))
                .containsExactly(
                        "nearest (PIX)",
                        "idle (PXB), better than sharing the nearest port (PIX): 48.0 GB/s against a share of 24.0");
    }

    @Test
    void butNotOutOfReachOfGpuDirect() {
        List<Request> requests = gpus(2, PathType.PIX, PathType.PHB, List.of(List.of(0), List.of(0)));
        assertThat(ports(requests)).containsExactly(List.of("mlx5_0:1"), List.of("mlx5_0:1"));
    }

    @Test
    void norWhenItGainsLittle() {
        List<Request> requests = new ArrayList<>();
        for (int gpu = 0; gpu < 2; gpu++) {
            requests.add(request(Machines.gpu(
                    gpu,
                    List.of(
                            Machines.nic("mlx5_0", "a", PathType.PIX, 400, 48),
                            Machines.nic("mlx5_1", "b", PathType.PXB, 200, 48)))));
        }
        assertThat(ports(requests)).as("25 GB/s against 24").containsOnly(List.of("mlx5_0:1"));
    }

    @Test
    void ranksOfTheHostDeviceShareEvenly() {
        Locality host = Locality.builder()
                .numa(0)
                .nics(List.of(Machines.nic("mlx5_0", PathType.PHB), Machines.nic("mlx5_1", PathType.PHB)))
                .build();
        List<List<String>> ports = ports(Collections.nCopies(64, request(host)));
        assertThat(ports.subList(0, 32)).containsOnly(List.of("mlx5_0:1"));
        assertThat(ports.subList(32, 64)).containsOnly(List.of("mlx5_1:1"));
    }

    @Test
    void severalRanksOfOneGpuShareItsNics() {
        List<Request> requests = List.of(
                request(Machines.ownNics(0, 2, 2)),
                request(Machines.ownNics(0, 2, 2)),
                request(Machines.ownNics(1, 2, 2)));
        assertThat(ports(requests))
                .containsExactly(List.of("mlx5_0:1"), List.of("mlx5_1:1"), List.of("mlx5_2:1", "mlx5_3:1"));
    }

    @Test
    void aNicThatTheUserNamedIsTaken() {
        Request named = new Request(Machines.ownNics(0, 2, 1), List.of("mlx5_1:1", "mlx5_0:1"), true);
        assertThat(NicAssignment.assign(List.of(named)))
                .containsExactly(new Share(List.of("mlx5_1:1", "mlx5_0:1"), "as ep.nic.map says"));
    }

    private static List<Request> random(long seed, int gpus, int nics) {
        Random random = new Random(seed);
        random.nextInt();
        List<Request> requests = new ArrayList<>();
        for (int gpu = 0; gpu < gpus; gpu++) {
            List<NicReach> reach = new ArrayList<>();
            for (int nic = 0; nic < nics; nic++) {
                PathType type = TYPES.get(random.nextInt(TYPES.size()));
                reach.add(Machines.nic(
                        "mlx5_" + nic, "card" + nic / 2, type, 100 << random.nextInt(3), 12 << random.nextInt(3)));
            }
            requests.add(request(Machines.gpu(gpu, reach)));
        }
        return requests;
    }

    @Property(tries = 500)
    void theOrderOfCandidatesDoesNotMatter(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 9) int gpus,
            @ForAll @IntRange(min = 1, max = 9) int nics) {
        List<Request> requests = random(seed, gpus, nics);
        List<Request> shuffled = new ArrayList<>();
        Random random = new Random(seed);
        for (Request request : requests) {
            List<String> candidates = new ArrayList<>(request.candidates());
            Collections.shuffle(candidates, random);
            shuffled.add(new Request(request.locality(), candidates, false));
        }
        assertThat(NicAssignment.assign(shuffled)).isEqualTo(NicAssignment.assign(requests));
    }

    @Property(tries = 500)
    void everyRankHasPortsStripesAreNearAndOwnAndGpuDirectIsKept(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 9) int gpus,
            @ForAll @IntRange(min = 1, max = 9) int nics) {
        List<Request> requests = random(seed, gpus, nics);
        List<List<String>> ports = ports(requests);
        Map<String, Integer> users = new HashMap<>();
        ports.forEach(assigned -> assigned.forEach(port -> users.merge(port, 1, Integer::sum)));
        for (int gpu = 0; gpu < gpus; gpu++) {
            Locality locality = requests.get(gpu).locality();
            List<PortView> mine = PortView.of(ports.get(gpu), locality);
            PathType nearest = PortView.of(requests.get(gpu).candidates(), locality).stream()
                    .map(view -> view.type().orElseThrow())
                    .min(Comparator.naturalOrder())
                    .orElseThrow();
            assertThat(mine).isNotEmpty();
            assertThat(new HashSet<>(ports.get(gpu))).hasSameSizeAs(ports.get(gpu));
            if (mine.size() > 1) {
                assertThat(mine).allSatisfy(port -> assertThat(port.type()).contains(nearest));
                assertThat(ports.get(gpu)).allSatisfy(port -> assertThat(users).containsEntry(port, 1));
            }
            if (nearest.gpuDirect()) {
                assertThat(mine).allSatisfy(port -> assertThat(port.direct()).isTrue());
            }
        }
    }

    @Property(tries = 300)
    void noPortIsSharedWhileEveryRankCouldHaveItsOwnNearOne(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 7) int gpus) {
        // Each GPU is near to its own NIC and to some others, so one for each is possible.
        Random random = new Random(seed);
        List<List<Integer>> near = new ArrayList<>();
        for (int gpu = 0; gpu < gpus; gpu++) {
            int own = gpu;
            near.add(IntStream.range(0, gpus)
                    .filter(nic -> nic == own || random.nextInt(3) == 0)
                    .boxed()
                    .toList());
        }
        List<List<String>> ports = ports(gpus(gpus, PathType.PXB, PathType.SYS, near));
        assertThat(ports.stream().flatMap(List::stream)).doesNotHaveDuplicates().hasSize(gpus);
    }

    @Test
    void namesAreOrderedAsPeopleCount() {
        assertThat(List.of("mlx5_10", "mlx5_2", "mlx5_02", "bnxt_re1", "mlx5_2a", "mlx5").stream()
                        .sorted(NicAssignment.AS_COUNTED))
                .containsExactly("bnxt_re1", "mlx5", "mlx5_02", "mlx5_2", "mlx5_2a", "mlx5_10");
    }
}
