package org.ep4j.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntFunction;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;
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
        return new NicReach(
                name,
                NicFamily.MLX5,
                name,
                new Distance(type, 48, 3),
                Optional.empty(),
                List.of(new NicReach.Port(1, LinkLayer.ETHERNET, 400, network)));
    }

    static NicReach nic(String name, String card, PathType type, double gigabits, double way) {
        return new NicReach(
                name,
                NicFamily.MLX5,
                card,
                new Distance(type, way, 3),
                Optional.empty(),
                List.of(new NicReach.Port(1, LinkLayer.INFINIBAND, gigabits)));
    }

    static Locality gpu(int index, List<NicReach> nics) {
        return new Locality(index, GpuVendor.NVIDIA, "sm_90", 0, 8, List.of(), nics);
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
        backends.put(MAPPED, new BackendProfile(true, "", Map.of(), Map.of("boot", "boot of " + host)));
        backends.put(POSTED, new BackendProfile(true, "", Map.of("atomics", "yes"), Map.of("fabric", "one")));
        Device device = locality.gpu() < 0 ? Device.HOST : new Device("cuda", locality.gpu());
        return new RankProfile(rank, host, "name-" + host, 1000 + rank, device, locality, "", backends, settings);
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
                        ? new PathOffer(EpPath.Kind.MAPPED, 300, 1, List.of())
                        : new NoPath("another host", "take a network backend"));
    }

    /** Offers every NIC, in whatever order the locality lists them. */
    static Planner.Candidate posted() {
        return new Planner.Candidate(POSTED, Machines::post);
    }

    private static Offer post(RankProfile from, RankProfile to) {
        List<String> nics = ports(from);
        return nics.isEmpty() || ports(to).isEmpty()
                ? new NoPath("no NIC", "add one")
                : new PathOffer(EpPath.Kind.HOST_POSTED, 40, 5, nics);
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
