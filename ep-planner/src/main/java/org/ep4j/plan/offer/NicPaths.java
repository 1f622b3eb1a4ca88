package org.ep4j.plan.offer;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.ep4j.topology.Locality;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.LinkLayer;
import org.ep4j.topology.PathType;

/**
 * The NIC ports that a GPU (or the host device) would use, nearest first.
 *
 * @param ports ports that are of use: those that reach the memory of the device where there are any, else all
 * @param names names of the ports, as offers name them
 * @param linkLayers what the ports speak
 * @param near how many at the head of {@code ports} are as near as the first
 * @param gigabytesPerSecond what the device gets of the near ones when every GPU of its host uses its share of the NICs
 */
public record NicPaths(
        List<NicPath> ports, List<String> names, Set<LinkLayer> linkLayers, int near, double gigabytesPerSecond) {
    public NicPaths {
        ports = List.copyOf(ports);
        names = List.copyOf(names);
        linkLayers = Set.copyOf(linkLayers);
    }

    /**
     * Finds the NIC ports that a GPU (or the host device) would use.
     *
     * @param usable which NICs count
     * @return empty when none of them has a port that can be sent from
     */
    public static Optional<NicPaths> of(Locality locality, Predicate<NicReach> usable) {
        List<NicPath> all = new ArrayList<>();
        // Functions of one port share its rate, so in one network one of them is as good as all.
        Set<String> seen = new HashSet<>();
        for (NicReach nic : locality.nics()) {
            if (usable.test(nic)) {
                nic.ports().stream()
                        .filter(port -> seen.add(nic.function() + ":" + port.number() + " " + port.network()))
                        .forEach(port -> all.add(new NicPath(nic, port, direct(locality, nic))));
            }
        }
        if (all.isEmpty()) {
            return Optional.empty();
        }
        boolean direct = all.stream().anyMatch(NicPath::direct);
        List<NicPath> ports =
                all.stream().filter(port -> port.direct() == direct).toList();
        PathType nearest = ports.get(0).nic().distance().type();
        int near = (int) ports.stream()
                .filter(port -> port.nic().distance().type() == nearest)
                .count();
        double share = sum(all) / Math.max(1, locality.gpu() < 0 ? 1 : locality.gpus());
        double rate = Math.min(sum(ports.subList(0, near)), share) * Estimates.NIC_EFFICIENCY;
        return Optional.of(new NicPaths(
                ports,
                ports.stream().map(NicPath::name).toList(),
                ports.stream().map(path -> path.port().linkLayer()).collect(Collectors.toSet()),
                near,
                rate));
    }

    /** Returns true if the NICs read and write the device's memory themselves. */
    public boolean direct() {
        return ports.get(0).direct();
    }

    public NicPath nearest() {
        return ports.get(0);
    }

    /**
     * Returns true if ports of this side and of {@code other} can be on one network; an InfiniBand and an Ethernet port
     * cannot.
     */
    public boolean canReach(NicPaths other) {
        return linkLayers.contains(LinkLayer.UNSPECIFIED)
                || other.linkLayers.contains(LinkLayer.UNSPECIFIED)
                || !Collections.disjoint(linkLayers, other.linkLayers);
    }

    /**
     * Networks of the nearest ports. An empty name stands for a network that is unknown or that routers join to others.
     */
    public Set<String> networks() {
        Set<String> found = new TreeSet<>();
        ports.subList(0, near).forEach(path -> found.add(path.port().network()));
        return found;
    }

    /**
     * Returns true if the nearest ports of this side and of {@code other} are in known networks that no known route
     * joins.
     */
    public boolean apart(NicPaths other) {
        Set<String> mine = networks();
        Set<String> theirs = other.networks();
        return !mine.contains("") && !theirs.contains("") && Collections.disjoint(mine, theirs);
    }

    private static boolean direct(Locality locality, NicReach nic) {
        // Host memory is near to every NIC.
        return locality.gpu() < 0
                || (nic.distance().type().gpuDirect() && nic.gpuDirect().orElse(true));
    }

    /** The rate of each port once, also where several functions of it are in networks of their own. */
    private static double sum(List<NicPath> paths) {
        Set<String> seen = new HashSet<>();
        return paths.stream()
                .filter(path ->
                        seen.add(path.nic().function() + ":" + path.port().number()))
                .mapToDouble(NicPath::gigabytesPerSecond)
                .sum();
    }
}
