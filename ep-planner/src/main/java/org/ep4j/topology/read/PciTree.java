package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Topology;

/**
 * The PCIe tree, from the canonical paths of devices in {@code /sys/devices}: host bridge, root port, upstream and downstream
 * port of each switch, device. A switch is one part, its upstream port; other ports are none. Only branches with devices that
 * were attached are there.
 */
final class PciTree {
    private static final Pattern BRIDGE = Pattern.compile("pci[0-9a-f]{4,8}:[0-9a-f]{2}");
    private static final Pattern FUNCTION = Pattern.compile("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-9a-f]");

    private final SysFiles sys;
    private final Topology.Builder builder;
    private final int host;
    private final NumaNodes numa;
    private final Map<String, Part> parts = new HashMap<>();

    /** Path of a device: its host bridge, and the PCI functions from there to the device, which is the last. */
    record Place(String bridge, List<String> functions) {
        /** Path of the device itself. */
        String device() {
            return functions.get(functions.size() - 1);
        }

        Optional<PciAddress> address() {
            return PciAddress.parse(SysFiles.last(device()));
        }
    }

    PciTree(SysFiles sys, Topology.Builder builder, int host, NumaNodes numa) {
        this.sys = sys;
        this.builder = builder;
        this.host = host;
        this.numa = numa;
    }

    /** The PCI function that a path leads to, or that what it leads to is on; empty when there is none. */
    Optional<Place> place(String path) {
        return sys.tree().real(path).flatMap(PciTree::parse);
    }

    Optional<Place> place(PciAddress address) {
        return place("/sys/bus/pci/devices/" + address);
    }

    static Optional<Place> parse(String real) {
        String bridge = "";
        List<String> functions = new ArrayList<>();
        int end = 0;
        while (end < real.length()) {
            int next = real.indexOf('/', end + 1);
            next = next < 0 ? real.length() : next;
            String name = real.substring(end + 1, next);
            if (BRIDGE.matcher(name).matches()) {
                // Volume management devices have a host bridge of their own below another one.
                bridge = real.substring(0, next);
                functions.clear();
            } else if (!bridge.isEmpty() && FUNCTION.matcher(name).matches()) {
                functions.add(real.substring(0, next));
            }
            end = next;
        }
        return functions.isEmpty() ? Optional.empty() : Optional.of(new Place(bridge, List.copyOf(functions)));
    }

    /** NUMA node of a device, -1 when unknown. */
    int numa(Place place) {
        return numa.known(sys.number(place.device() + "/numa_node"));
    }

    /** Adds a device with all that is between it and its NUMA node. */
    void attach(Part device, Place place) {
        builder.add(device);
        Part above = bridge(place);
        int link = 0;
        // Ports come in pairs below the root port: upstream, which stands for the switch, and downstream.
        for (int i = 1; i < place.functions().size() - 1; i += 2) {
            above = pciSwitch(place, i, link, above);
            link = i + 1;
        }
        builder.link(above, device, link(place, link, place.functions().size() - 1));
    }

    private Part bridge(Place place) {
        String name = SysFiles.last(place.bridge());
        return parts.computeIfAbsent(name, key -> {
            HostBridge bridge = new HostBridge(host, name);
            builder.add(bridge);
            builder.link(numa.get(numa(place)), bridge, new Link(LinkType.ROOT, LinkBandwidths.UNLIMITED, 1));
            return bridge;
        });
    }

    private Part pciSwitch(Place place, int index, int portAbove, Part above) {
        String path = place.functions().get(index);
        String name = SysFiles.last(path);
        return parts.computeIfAbsent(name, key -> {
            PciSwitch found = new PciSwitch(host, PciAddress.parse(name).orElseThrow(), sys.id(path));
            builder.add(found);
            builder.link(above, found, link(place, portAbove, index));
            return found;
        });
    }

    /** From a port to what is below it: each end may be the slower one. */
    private Link link(Place place, int portAbove, int below) {
        double lower = rate(place.functions().get(below));
        double both = portAbove < below ? Math.min(lower, rate(place.functions().get(portAbove))) : lower;
        return new Link(LinkType.PCI, both == Double.MAX_VALUE ? LinkBandwidths.pci(0, 0) : both, 1);
    }

    private double rate(String function) {
        double lane = sys.leading(function + "/max_link_speed");
        int lanes = (int) sys.leading(function + "/max_link_width");
        // Functions that are no PCIe devices, such as virtual ones, say 0, "Unknown" or 255 lanes.
        if (lane > Limits.PCIE_TRANSFERS) {
            builder.warn("the max_link_speed of " + SysFiles.last(function) + " is " + lane
                    + " GT/s; no link is faster than " + Limits.PCIE_TRANSFERS + ", so it counts as unknown");
        }
        return lane <= 0 || lane > Limits.PCIE_TRANSFERS || lanes <= 0 || lanes > Limits.PCIE_LANES
                ? Double.MAX_VALUE
                : LinkBandwidths.pci(lane, lanes);
    }
}
