package org.ep4j.plan.forecast;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.Planner;
import org.ep4j.plan.Planner.Candidate;
import org.ep4j.plan.forecast.Exchange.Messages;
import org.ep4j.plan.forecast.Exchange.Mode;
import org.ep4j.plan.forecast.Forecast.Operation;
import org.ep4j.plan.forecast.Forecast.ResourceLoad;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.PathType;
import org.junit.jupiter.api.Tag;

/** Forecasts add up what goes between alike ranks at once; here every pair is added on its own. */
@Tag("verify")
final class ForecasterTest {
    private static final int GPUS = 4;

    @Property(tries = 300)
    void loadsAreThoseOfAllPairs(@ForAll long seed, @ForAll @IntRange(min = 1, max = 6) int hosts) {
        GroupPlan plan = plan(seed, hosts);
        Random random = new Random(seed);
        int topK = 1 + random.nextInt(3);
        EpShape shape = EpShape.builder(128, plan.ranks() + topK + random.nextInt(9), topK)
                .maxTokens(16)
                .build();
        ExpertPlacement placement = ExpertPlacement.block(shape.experts(), plan.ranks());
        for (Mode mode : Mode.values()) {
            Exchange exchange = Exchange.of(shape, mode, 16, random.nextBoolean());
            Forecast.ofBoth(plan, exchange, placement).forEach((operation, forecast) -> {
                PathTable paths = new PathTable(plan);
                Traffic traffic = pairByPair(plan, paths, exchange, placement, operation == Operation.DISPATCH);
                Map<String, Double> expected = bytes(traffic.loads());
                Map<String, Double> found = bytes(forecast.loads());
                assertThat(found.keySet()).isEqualTo(expected.keySet());
                expected.forEach((resource, bytes) -> assertThat(found.get(resource))
                        .as("%s of a %s in mode %s", resource, operation, mode)
                        .isCloseTo(bytes, within(1e-9 * bytes)));
                assertThat(forecast.wireBytes())
                        .isCloseTo(traffic.wirePerRank(), within(1e-9 * traffic.wirePerRank() + 1e-9));
            });
        }
    }

    private static Map<String, Double> bytes(List<ResourceLoad> loads) {
        Map<String, Double> bytes = new TreeMap<>();
        loads.forEach(load -> bytes.put(load.resource(), load.bytes()));
        return bytes;
    }

    private static Traffic pairByPair(
            GroupPlan plan, PathTable paths, Exchange exchange, ExpertPlacement placement, boolean dispatch) {
        Messages messages = dispatch ? exchange.dispatchMessages() : exchange.combineMessages();
        double tokens = exchange.tokens() * (double) (dispatch ? exchange.dispatchRow() : exchange.combineRow());
        Routing routing = new Routing(exchange, placement);
        List<List<Integer>> domains = domains(plan);
        boolean forwards =
                exchange.mode() == Mode.HIGH_THROUGHPUT && messages == Messages.PER_RANK && domains.size() > 1;
        double[][] bytes = new double[plan.ranks()][plan.ranks()];
        for (int from = 0; from < plan.ranks(); from++) {
            for (int to = 0; to < plan.ranks(); to++) {
                if (!forwards) {
                    bytes[from][to] += tokens * routing.messages(to, messages);
                }
            }
            int sender = from;
            int place = domains.stream()
                    .mapToInt(domain -> domain.indexOf(sender))
                    .max()
                    .orElseThrow();
            for (List<Integer> there : forwards ? domains : List.<List<Integer>>of()) {
                int rail = there.contains(from) ? from : there.get(place % there.size());
                if (rail != from) {
                    bytes[from][rail] += tokens * routing.reaches(there);
                }
                for (int to : there) {
                    bytes[rail][to] += tokens * routing.messages(to, messages);
                }
            }
        }
        Traffic traffic = new Traffic(plan, paths, Estimates.NIC_EFFICIENCY);
        for (int from = 0; from < plan.ranks(); from++) {
            for (int to = 0; to < plan.ranks(); to++) {
                traffic.add(dispatch ? from : to, dispatch ? to : from, bytes[from][to]);
            }
        }
        return traffic;
    }

    /** Each rank joins the first domain whose members all map it and are mapped by it. */
    private static List<List<Integer>> domains(GroupPlan plan) {
        List<List<Integer>> domains = new ArrayList<>();
        for (int r = 0; r < plan.ranks(); r++) {
            int rank = r;
            List<Integer> own = domains.stream()
                    .filter(domain ->
                            domain.stream().allMatch(other -> mapped(plan, other, rank) && mapped(plan, rank, other)))
                    .findFirst()
                    .orElseGet(() -> {
                        domains.add(new ArrayList<>());
                        return domains.get(domains.size() - 1);
                    });
            own.add(rank);
        }
        return domains;
    }

    private static boolean mapped(GroupPlan plan, int from, int to) {
        return plan.pathKind(from, to) == EpPath.Kind.MAPPED;
    }

    /** Hosts of 1 to 4 GPUs, some of which share a domain, with links of their own, through switches, or only to neighbours. */
    private static GroupPlan plan(long seed, int hosts) {
        Random random = new Random(seed);
        int reach = 1 + random.nextInt(GPUS);
        boolean switched = random.nextBoolean();
        List<RankProfile> profiles = new ArrayList<>();
        for (int host = 0; host < hosts; host++) {
            String domain = random.nextInt(3) == 0 ? "domain" + host / 2 : "";
            int nics = 1 + random.nextInt(2);
            for (int gpu = 0; gpu <= random.nextInt(GPUS); gpu++) {
                int rank = profiles.size();
                profiles.add(RankProfile.builder(rank, "h" + host, Device.cuda(gpu))
                        .pid(rank)
                        .locality(locality(gpu, switched, nics))
                        .domain(domain)
                        .backends(Map.of(
                                "ipc",
                                BackendProfile.of(Map.of(), Map.of()),
                                "rdma",
                                BackendProfile.of(Map.of(), Map.of())))
                        .build());
            }
        }
        return Planner.plan(
                profiles,
                List.of(
                        new Candidate("ipc", (from, to) -> ipc(from, to, reach)),
                        new Candidate("rdma", ForecasterTest::rdma)),
                BackendChoice.AUTO);
    }

    private static Offer ipc(RankProfile from, RankProfile to, int reach) {
        boolean host = from.hostId().equals(to.hostId());
        boolean domain = !from.domain().isEmpty() && from.domain().equals(to.domain());
        return (host || domain)
                        && Math.abs(from.locality().gpu() - to.locality().gpu()) < reach
                ? Offer.path(EpPath.Kind.MAPPED)
                        .gigabytesPerSecond(300)
                        .latencyMicros(1)
                        .build()
                : Offer.none("too far", "");
    }

    private static Offer rdma(RankProfile from, RankProfile to) {
        return Offer.path(EpPath.Kind.HOST_POSTED)
                .gigabytesPerSecond(40)
                .latencyMicros(5)
                .nics(from.locality().nics().stream()
                        .map(nic -> nic.name() + ":1")
                        .toList())
                .build();
    }

    private static Locality locality(int gpu, boolean switched, int nics) {
        List<GpuPeer> peers = new ArrayList<>();
        for (int other = 0; other < GPUS; other++) {
            if (other != gpu) {
                peers.add(GpuPeer.of(other, new Distance(PathType.NVL, 300, switched ? 2 : 1), LinkType.NVLINK));
            }
        }
        List<NicReach> reach = new ArrayList<>();
        for (int nic = 0; nic < nics; nic++) {
            reach.add(NicReach.builder(
                            "mlx5_" + nic,
                            NicFamily.MLX5,
                            new Distance(nic == gpu % nics ? PathType.PIX : PathType.SYS, 48, 3))
                    .card("card" + nic)
                    .ports(List.of(new NicReach.Port(1, LinkLayer.INFINIBAND, 400)))
                    .build());
        }
        return Locality.builder()
                .gpu(gpu)
                .vendor(GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .gpus(GPUS)
                .peers(peers)
                .nics(reach)
                .build();
    }
}
