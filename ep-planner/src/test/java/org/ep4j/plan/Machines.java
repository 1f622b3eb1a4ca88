package org.ep4j.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.PathType;

/** Made-up hosts, and backends that behave as real ones do. */
final class Machines {
    static final String MAPPED = "ipc";
    static final String POSTED = "rdma";

    private Machines() {}

    /** A NIC with one port of 400 Gbit/s, each of which is a card of its own. */
    static NicReach nic(String name, PathType type) {
        return nic(name, name, type, 400, 48);
    }

    /** A NIC with one port in a network that no router joins to others. */
    static NicReach nic(String name, PathType type, String network) {
        return NicReach.builder(name, NicFamily.MLX5, new Distance(type, 48, 3))
                .ports(List.of(new NicReach.Port(1, LinkLayer.ETHERNET, 400, network)))
                .build();
    }

    static NicReach nic(String name, String card, PathType type, double gigabits, double way) {
        return NicReach.builder(name, NicFamily.MLX5, new Distance(type, way, 3))
                .card(card)
                .ports(List.of(new NicReach.Port(1, LinkLayer.INFINIBAND, gigabits)))
                .build();
    }

    static Locality gpu(int index, List<NicReach> nics) {
        return Locality.builder()
                .gpu(index)
                .vendor(GpuVendor.NVIDIA)
                .architecture("sm_90")
                .numa(0)
                .gpus(8)
                .nics(nics)
                .build();
    }

    /** GPU {@code i} is nearest to NICs {@code i * each ...}; all others are far. */
    static Locality ownNics(int gpu, int gpus, int each) {
        List<NicReach> nics = new ArrayList<>();
        for (int i = 0; i < gpus * each; i++) {
            nics.add(nic("mlx5_" + i, i / each == gpu ? PathType.PIX : PathType.SYS));
        }
        return gpu(gpu, nics);
    }

    static RankProfile rank(int rank, String host, Locality locality, Map<String, String> settings) {
        Map<String, BackendProfile> backends = new TreeMap<>();
        backends.put(MAPPED, BackendProfile.of(Map.of(), Map.of("boot", "boot of " + host)));
        backends.put(POSTED, BackendProfile.of(Map.of("atomics", "yes"), Map.of("fabric", "one")));
        Device device = locality.gpu() < 0 ? Device.HOST : Device.cuda(locality.gpu());
        return RankProfile.builder(rank, host, device)
                .hostName("name-" + host)
                .pid(1000 + rank)
                .locality(locality)
                .backends(backends)
                .settings(settings)
                .build();
    }

    /** Hosts with the given numbers of ranks, rank {@code i} of a host on GPU {@code i}. */
    static List<RankProfile> hosts(List<Integer> ranksOfHosts, IntFunction<Locality> gpu) {
        List<RankProfile> profiles = new ArrayList<>();
        for (int host = 0; host < ranksOfHosts.size(); host++) {
            for (int i = 0; i < ranksOfHosts.get(host); i++) {
                profiles.add(rank(profiles.size(), "h" + host, gpu.apply(i), Map.of()));
            }
        }
        return profiles;
    }

    static Planner.Candidate mapped() {
        return new Planner.Candidate(
                MAPPED,
                (from, to) -> same(MAPPED, "boot", from, to)
                        ? Offer.path(EpPath.Kind.MAPPED)
                                .gigabytesPerSecond(300)
                                .latencyMicros(1)
                                .build()
                        : Offer.none("another host", "take a network backend"));
    }

    /** Offers every NIC, in whatever order the locality lists them. */
    static Planner.Candidate posted() {
        return new Planner.Candidate(POSTED, Machines::post);
    }

    private static Offer post(RankProfile from, RankProfile to) {
        List<String> nics = ports(from);
        return nics.isEmpty() || ports(to).isEmpty()
                ? Offer.none("no NIC", "add one")
                : Offer.path(EpPath.Kind.HOST_POSTED)
                        .gigabytesPerSecond(40)
                        .latencyMicros(5)
                        .nics(nics)
                        .build();
    }

    private static List<String> ports(RankProfile profile) {
        return profile.locality().nics().stream()
                .flatMap(nic -> nic.ports().stream().map(port -> nic.name() + ":" + port.number()))
                .toList();
    }

    private static boolean same(String backend, String fact, RankProfile a, RankProfile b) {
        return a.identity(backend)
                .getOrDefault(fact, "")
                .equals(b.identity(backend).getOrDefault(fact, ""));
    }
}
