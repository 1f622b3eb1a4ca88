package org.ep4j.plan.forecast;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.NicPath;
import org.ep4j.spi.RankProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;

/** Turns the bytes of ranks into loads of GPU links, NIC ports, PCIe and host memory. */
final class ResourceLoads {
    private final GroupPlan plan;
    private final PathTable paths;
    private final double nicEfficiency;
    private final Map<String, double[]> found = new HashMap<>();

    /** The first rank of each GPU. */
    private final Map<String, Integer> ranks = new HashMap<>();

    private ResourceLoads(GroupPlan plan, PathTable paths, double nicEfficiency) {
        this.plan = plan;
        this.paths = paths;
        this.nicEfficiency = nicEfficiency;
        for (RankProfile profile : plan.profiles()) {
            ranks.putIfAbsent(place(profile.hostId(), profile.locality().gpu()), profile.rank());
        }
    }

    /** Loads, the slowest first. */
    static List<ResourceLoad> of(GroupPlan plan, PathTable paths, Traffic traffic, double nicEfficiency) {
        ResourceLoads loads = new ResourceLoads(plan, paths, nicEfficiency);
        for (int rank = 0; rank < plan.ranks(); rank++) {
            int own = rank;
            traffic.of(rank).forEach((path, bytes) -> loads.add(own, paths.traits(path), bytes[0], bytes[1]));
        }
        traffic.ownLinks()
                .forEach((pair, bytes) ->
                        loads.ownLink((int) (pair / plan.ranks()), (int) (pair % plan.ranks()), bytes));
        List<ResourceLoad> all = new ArrayList<>();
        loads.found.forEach((name, load) -> all.add(new ResourceLoad(name, load[0], load[1])));
        // Sums of the same bytes in another order may differ in the last digits.
        all.sort(Comparator.comparingLong((ResourceLoad load) -> -Math.round(load.micros() * 1e6))
                .thenComparing(ResourceLoad::resource));
        return List.copyOf(all);
    }

    private void add(int rank, PathTraits path, double out, double in) {
        if (path.gpuPath().isPresent()) {
            GpuPath way = path.gpuPath().get();
            String what = way.gpuLinks() ? way.link() + " of " : "PCIe of ";
            carry(what + name(rank) + ", out", out, way.achievable());
            carry(what + name(rank) + ", in", in, way.achievable());
        } else if (path.posted()) {
            posted(rank, path, out, in);
        } else {
            carry("copies of " + name(rank), out, path.offer().gigabytesPerSecond());
            hostMemory(rank, out + in);
        }
        if (path.offer().staged()) {
            carry("PCIe between GPU and CPU of " + name(rank) + ", out", out, Estimates.PCI_GIGABYTES);
            carry("PCIe between GPU and CPU of " + name(rank) + ", in", in, Estimates.PCI_GIGABYTES);
            if (path.posted()) {
                hostMemory(rank, out + in);
            }
        }
    }

    private void posted(int rank, PathTraits path, double out, double in) {
        if (path.ports().isEmpty()) {
            carry("network of " + name(rank) + ", out", out, path.offer().gigabytesPerSecond());
            carry("network of " + name(rank) + ", in", in, path.offer().gigabytesPerSecond());
            return;
        }
        String host = plan.profiles().get(rank).hostName();
        int ports = path.ports().size();
        boolean sockets = false;
        for (String port : path.ports()) {
            NicPath nic = nic(plan.profiles().get(rank).locality(), port);
            double rate = nic.gigabytesPerSecond() * nicEfficiency;
            carry(port + " of " + host + ", out", out / ports, rate);
            carry(port + " of " + host + ", in", in / ports, rate);
            sockets |= !nic.nic().family().rdma();
            // Where the way to a NIC is narrower than its port, its ports share that way.
            double way = nic.nic().distance().gigabytesPerSecond();
            if (way > 0 && way < nic.gigabytesPerSecond()) {
                String card = nic.nic().card().isEmpty()
                        ? nic.nic().name()
                        : nic.nic().card();
                carry("PCIe of card " + card + " of " + host + ", out", out / ports, way);
                carry("PCIe of card " + card + " of " + host + ", in", in / ports, way);
            }
        }
        if (sockets) {
            carry("sockets of " + name(rank) + ", out", out, path.offer().gigabytesPerSecond());
            carry("sockets of " + name(rank) + ", in", in, path.offer().gigabytesPerSecond());
        }
    }

    private void ownLink(int from, int to, double bytes) {
        PathTraits path = paths.traits(from, to);
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
            carry(
                    way.link() + " from " + name(from) + " to " + name(from, gpu),
                    bytes / between.size(),
                    way.achievable());
            carry(
                    way.link() + " from " + name(from, gpu) + " to " + name(to),
                    bytes / between.size(),
                    way.achievable());
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

    private void carry(String resource, double bytes, double capacity) {
        if (bytes > 0) {
            double[] load = found.computeIfAbsent(resource, k -> new double[] {0, capacity});
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
        Integer rank = ranks.get(place(profile.hostId(), gpu));
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
