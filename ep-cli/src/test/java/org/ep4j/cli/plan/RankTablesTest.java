package org.ep4j.cli.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.EpPath;
import org.ep4j.cli.plan.Machines.Joined;
import org.ep4j.cli.plan.Machines.NicKind;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;
import org.ep4j.testing.Growth;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.Topology;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Tag("verify")
final class RankTablesTest {
    private static final int RANKS = 2048;
    private static final int FACTOR = 4;

    /**
     * Most times the cost for {@link #FACTOR} times the ranks: steps that grow with the square of the ranks would take 16 times as
     * long.
     */
    private static final double MOST = 6;

    /** NICs of a rank in these clusters. */
    private static final int MOST_PORTS = 4;

    private static Stream<RankTables.Mix> mixes() {
        return RankTables.MIXES.stream();
    }

    @ParameterizedTest
    @MethodSource("mixes")
    void areWhatThePathsOfThePlanSay(RankTables.Mix mix) {
        GroupPlan plan = mix.plan(mix.profiles(20 * mix.perHost()));
        Map<String, TreeSet<Integer>> users = new TreeMap<>();
        for (EpPath path : plan.paths()) {
            if (path.from() != path.to()) {
                users.computeIfAbsent(path.backend(), k -> new TreeSet<>()).addAll(List.of(path.from(), path.to()));
            }
        }
        assertThat(users.keySet()).containsExactlyInAnyOrderElementsOf(mix.backends());
        for (int rank : List.of(0, 5, plan.ranks() - 1)) {
            RankTables tables = RankTables.of(plan, rank);
            assertThat(tables.mapped()).isEqualTo(peers(plan, rank, true));
            assertThat(tables.remotes()).isEqualTo(peers(plan, rank, false));
            assertThat(tables.places())
                    .isEqualTo(tables.remotes().stream()
                            .map(peer -> peers(plan, peer, false).indexOf(rank))
                            .toList());
            users.forEach(
                    (backend, ranks) -> assertThat(tables.users().get(backend)).containsExactlyElementsOf(ranks));
            for (int peer = 0; peer < plan.ranks(); peer++) {
                assertThat(tables.via().get(peer))
                        .as("what rank %d sends to rank %d", rank, peer)
                        .isEqualTo(via(plan, rank, peer));
            }
            long ports = tables.remotes().stream()
                    .map(peer -> plan.path(rank, peer))
                    .filter(path -> path.kind() == EpPath.Kind.HOST_POSTED)
                    .count();
            assertThat(tables.ports()).isBetween(ports, (long) MOST_PORTS * ports);
            assertThat(tables.size().symmetricBytes()).isPositive();
        }
    }

    /** The rank of the peer's domain that has the sender's place in its own; nobody inside a domain, or where it has one rank. */
    private static int via(GroupPlan plan, int rank, int peer) {
        List<Integer> own = domain(plan, rank);
        List<Integer> there = domain(plan, peer);
        return own.contains(peer) || there.size() == 1 ? -1 : there.get(own.indexOf(rank) % there.size());
    }

    private static List<Integer> domain(GroupPlan plan, int rank) {
        List<Integer> domain = new ArrayList<>(peers(plan, rank, true));
        domain.add(rank);
        domain.sort(null);
        return domain;
    }

    private static List<Integer> peers(GroupPlan plan, int rank, boolean mapped) {
        return IntStream.range(0, plan.ranks())
                .filter(peer -> peer != rank && (plan.pathKind(rank, peer) == EpPath.Kind.MAPPED) == mapped)
                .boxed()
                .toList();
    }

    @Tag("all")
    @ParameterizedTest
    @MethodSource("mixes")
    void takeStepsThatGrowWithTheRanksAndNotWithTheirSquare(RankTables.Mix mix) {
        List<RankProfile> few = mix.profiles(RANKS);
        List<RankProfile> many = mix.profiles(FACTOR * RANKS);
        assertThat(Growth.of(() -> mix.plan(few), () -> mix.plan(many), MOST))
                .as("plan")
                .isLessThanOrEqualTo(MOST);
        GroupPlan small = mix.plan(few);
        GroupPlan large = mix.plan(many);
        assertThat(Growth.of(() -> RankTables.of(small, 1), () -> RankTables.of(large, 1), MOST))
                .as("tables")
                .isLessThanOrEqualTo(MOST);
    }

    @Tag("all")
    @Test
    void aHostOfHundredsOfGpusTakesStepsThatGrowWithItsPairsOfGpus() {
        // Four times as many GPUs and NICs have 16 times as many pairs.
        assertThat(Growth.of(() -> planOfOneHost(144), () -> planOfOneHost(4 * 144), 2 * 16))
                .isLessThanOrEqualTo(2 * 16);
    }

    private static void planOfOneHost(int gpus) {
        Topology machine =
                Machines.gpus(gpus, GpuVendor.NVIDIA, Joined.NOT, List.of(NicKind.of(NicFamily.MLX5, 1, 400)));
        RankTables.Mix mix = new RankTables.Mix("one host", machine, gpus, false);
        GroupPlan plan = mix.plan(mix.profiles(gpus));
        assertThat(IntStream.range(0, gpus).mapToObj(plan::nics))
                .as("each GPU has the NIC beside it")
                .isEqualTo(IntStream.range(0, gpus)
                        .mapToObj(gpu -> List.of("mlx5_" + gpu + "_0:1"))
                        .toList());
    }
}
