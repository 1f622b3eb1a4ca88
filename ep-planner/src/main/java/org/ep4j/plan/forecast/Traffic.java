package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.forecast.Forecast.ResourceLoad;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.NicPath;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;

/** Adds up the bytes of one operation by rank and path, and gives the loads of links, ports, PCIe and host memory. */
final class Traffic {
    private final GroupPlan plan;
    private final PathTable paths;
    private final double nicEfficiency;

    /** By rank, then by path: bytes out, bytes in. */
    private final List<Map<Integer, double[]>> byRank = new ArrayList<>();

    /** By {@code from * ranks + to}: bytes over links that two GPUs have for themselves. */
    private final Map<Long, Double> ownLinks = new HashMap<>();

    /** The first rank of each GPU. */
    private final Map<String, Integer> firstRanks = new HashMap<>();

    /** By resource: bytes, capacity. */
    private final Map<String, double[]> loads = new HashMap<>();

    private double wire;

    Traffic(GroupPlan plan, PathTable paths, double nicEfficiency) {
        this.plan = plan;
        this.paths = paths;
        this.nicEfficiency = nicEfficiency;
        for (RankProfile profile : plan.profiles()) {
            byRank.add(new HashMap<>());
            firstRanks.putIfAbsent(place(profile.hostId(), profile.locality().gpu()), profile.rank());
        }
    }

    /** Adds bytes from one rank to another; those to itself cost nothing here. */
    void add(int from, int to, double bytes) {
        if (from == to || bytes <= 0) {
            return;
        }
        wire += bytes;
        int out = paths.index(from, to);
        if (paths.traits(out).ownLink()) {
            ownLinks.merge((long) from * byRank.size() + to, bytes, Double::sum);
            return;
        }
        cell(from, out)[0] += bytes;
        // What arrives uses the ports by which the receiver would answer.
        cell(to, paths.index(to, from))[1] += bytes;
    }

    /** Adds bytes from a rank to peers that are reached as {@code example} is. */
    void addOut(int rank, int example, double bytes) {
        if (bytes > 0) {
            wire += bytes;
            cell(rank, paths.index(rank, example))[0] += bytes;
        }
    }

    /** Adds bytes to a rank from peers that it reaches as {@code example}. */
    void addIn(int rank, int example, double bytes) {
        if (bytes > 0) {
            cell(rank, paths.index(rank, example))[1] += bytes;
        }
    }

    private double[] cell(int rank, int path) {
        return byRank.get(rank).computeIfAbsent(path, k -> new double[2]);
    }

    /** Bytes that left ranks, on average. */
    double wirePerRank() {
        return wire / Math.max(1, byRank.size());
    }

    /** Loads of all bytes that were added, the slowest first; to be called once. */
    List<ResourceLoad> loads() {
        for (int rank = 0; rank < plan.ranks(); rank++) {
            int own = rank;
            byRank.get(rank).forEach((path, bytes) -> load(own, paths.traits(path), bytes[0], bytes[1]));
        }
        ownLinks.forEach((pair, bytes) -> ownLink((int) (pair / plan.ranks()), (int) (pair % plan.ranks()), bytes));
        List<ResourceLoad> all = new ArrayList<>();
        loads.forEach((name, load) -> all.add(new ResourceLoad(name, load[0], load[1])));
        // Sums of the same bytes in another order may differ in the last digits.
        all.sort(Comparator.comparingLong((ResourceLoad load) -> -Math.round(load.micros() * 1e6))
                .thenComparing(ResourceLoad::resource));
        return all;
    }

    private void load(int rank, PathTable.Traits path, double out, double in) {
        if (path.gpuPath().isPresent()) {
            GpuPath way = path.gpuPath().get();
            String what = way.gpuLinks() ? way.link() + " of " : "PCIe of ";
            carryBoth(what + name(rank), out, in, way.achievable());
        } else if (path.posted()) {
            posted(rank, path, out, in);
        } else {
            carry("copies of " + name(rank), out, path.offer().gigabytesPerSecond());
            hostMemory(rank, out + in);
        }
        if (path.offer().staged()) {
            carryBoth("PCIe between GPU and CPU of " + name(rank), out, in, Estimates.PCI_GIGABYTES);
            if (path.posted()) {
                hostMemory(rank, out + in);
            }
        }
    }

    private void posted(int rank, PathTable.Traits path, double out, double in) {
        if (path.ports().isEmpty()) {
            carryBoth("network of " + name(rank), out, in, path.offer().gigabytesPerSecond());
            return;
        }
        String host = plan.profiles().get(rank).hostName();
        int ports = path.ports().size();
        boolean sockets = false;
        for (String port : path.ports()) {
            NicPath nic = nic(plan.profiles().get(rank).locality(), port);
            carryBoth(port + " of " + host, out / ports, in / ports, nic.gigabytesPerSecond() * nicEfficiency);
            sockets |= !nic.nic().family().rdma();
            // Where the way to a NIC is narrower than its port, its ports share that way.
            double way = nic.nic().distance().gigabytesPerSecond();
            if (way > 0 && way < nic.gigabytesPerSecond()) {
                String card = nic.nic().card().isEmpty()
                        ? nic.nic().name()
                        : nic.nic().card();
                carryBoth("PCIe of card " + card + " of " + host, out / ports, in / ports, way);
            }
        }
        if (sockets) {
            carryBoth("sockets of " + name(rank), out, in, path.offer().gigabytesPerSecond());
        }
    }

    private void ownLink(int from, int to, double bytes) {
        PathTable.Traits path = paths.traits(from, to);
        if (path.gpuPath().isEmpty()) {
            return;
        }
        GpuPath way = path.gpuPath().get();
        if (way.relays().isEmpty()) {
            carry(ownLink(from, to, way), bytes, way.achievable());
            return;
        }
        List<Integer> between = way.relays().get().gpus();
        for (int gpu : between) {
            double share = bytes / between.size();
            carry(way.link() + " from " + name(from) + " to " + name(from, gpu), share, way.achievable());
            carry(way.link() + " from " + name(from, gpu) + " to " + name(to), share, way.achievable());
        }
    }

    /** Links of two packages carry what all their partitions send each other. */
    private String ownLink(int from, int to, GpuPath way) {
        return way.packages()
                .map(packages -> way.link() + " from the package of GPU " + packages.from() + " to the package of GPU "
                        + packages.to() + " of " + plan.profiles().get(from).hostName())
                .orElse(way.link() + " from " + name(from) + " to rank " + to);
    }

    private void hostMemory(int rank, double bytes) {
        carry("memory of " + plan.profiles().get(rank).hostName(), bytes, Estimates.STAGING_GIGABYTES);
    }

    private void carryBoth(String resource, double out, double in, double capacity) {
        carry(resource + ", out", out, capacity);
        carry(resource + ", in", in, capacity);
    }

    private void carry(String resource, double bytes, double capacity) {
        if (bytes > 0) {
            double[] load = loads.computeIfAbsent(resource, k -> new double[] {0, capacity});
            load[0] += bytes;
            load[1] = Math.max(load[1], capacity);
        }
    }

    private String name(int rank) {
        return "rank " + rank;
    }

    /** The first rank with a GPU of the host of another. */
    private String name(int other, int gpu) {
        RankProfile profile = plan.profiles().get(other);
        Integer rank = firstRanks.get(place(profile.hostId(), gpu));
        return rank == null ? "GPU " + gpu + " of " + profile.hostName() : name(rank);
    }

    private static String place(String hostId, int gpu) {
        return gpu + " " + hostId;
    }

    private static NicPath nic(Locality locality, String name) {
        for (NicReach nic : locality.nics()) {
            for (NicReach.Port port : nic.ports()) {
                NicPath path = new NicPath(nic, port, true);
                if (path.name().equals(name)) {
                    return path;
                }
            }
        }
        throw new IllegalArgumentException("the plan assigns " + name + ", which its rank does not report");
    }
}
