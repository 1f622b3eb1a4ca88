package org.ep4j.cli.topo;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NicReach;
import org.ep4j.topology.NicReach.PortObstacle;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.HostBridge;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.PciSwitch;
import org.ep4j.topology.model.Processor;
import org.ep4j.topology.model.Topology;

/** Descriptions of parts for people. */
record PartText(Topology topology) {
    private static final double UNLIMITED = 5000;

    /** Returns one line with all that is known of a part. */
    String line(Branch branch) {
        Part part = branch.part();
        return joined(part.name().equals("") ? "?" : name(part), details(part), up(branch.up()));
    }

    /** Returns the name, with the kind where the name alone does not show it. */
    static String name(Part part) {
        if (part instanceof PciSwitch pci) {
            return "PCI switch " + pci.name();
        }
        return part instanceof HostBridge bridge ? "PCI root " + bridge.name() : part.name();
    }

    /** Returns the properties of a part besides its name and links. */
    String details(Part part) {
        if (part instanceof Gpu gpu) {
            return gpu(gpu);
        }
        if (part instanceof Nic nic) {
            return nic(nic);
        }
        if (part instanceof NumaNode node) {
            return joined(processor(node.processor()), processorLinks(node));
        }
        return part instanceof PciSwitch pci ? id(pci.id()) : "";
    }

    private String gpu(Gpu gpu) {
        return joined(
                gpu.address().map(PciAddress::toString).orElse(""),
                gpu.model(),
                gpu.architecture(),
                gpu.card().isEmpty() ? gpuLinks(gpu) : "partition",
                gpu.gpuDirect().map(yes -> yes ? "" : "no GPUDirect").orElse(""),
                gpu.clique().isEmpty() ? "" : "clique " + gpu.clique());
    }

    /** Returns the links to other GPUs, their switches and processors: {@code NVLink x18}. */
    String gpuLinks(Gpu gpu) {
        List<String> found = new ArrayList<>();
        for (LinkType type : List.of(LinkType.NVLINK, LinkType.XGMI, LinkType.C2C)) {
            int count = 0;
            double width = 0;
            for (Part neighbour : topology.neighbours(gpu)) {
                for (Link link : topology.links(gpu, neighbour)) {
                    count += link.type() == type ? link.count() : 0;
                    width += link.type() == type ? link.gigabytesPerSecond() : 0;
                }
            }
            if (count > 0) {
                found.add(name(type) + " x" + count + rate(width));
            }
        }
        return String.join(", ", found);
    }

    /** Leaves out 5000 GB/s, which NCCL has for rates that are not known or never limit (graph/topo.h). */
    private static String rate(double gigabytesPerSecond) {
        return gigabytesPerSecond > 0 && gigabytesPerSecond < UNLIMITED
                ? " " + number(gigabytesPerSecond) + " GB/s"
                : "";
    }

    private String nic(Nic nic) {
        return joined(
                nic.address().map(PciAddress::toString).orElse(""),
                nic.family().toString(),
                nic.driver().isEmpty() ? "" : "driver " + nic.driver(),
                nic.ports().stream().map(port -> port(nic, port)).collect(Collectors.joining("; ")),
                nic.gpuDirect().map(yes -> yes ? "" : "no GPUDirect").orElse(""),
                nic.listed() ? "" : "not usable: " + PortObstacle.NOT_LISTED,
                nic.compute() ? "" : "not for application traffic");
    }

    /** Returns a text such as {@code port 1 ACTIVE InfiniBand 400 Gb/s}. */
    private String port(Nic nic, NicPort port) {
        return "port " + port.number()
                + (port.state() == NicPort.State.UNKNOWN ? "" : " " + port.state())
                + layer(port.linkLayer())
                + (port.gigabitsPerSecond() > 0 ? " " + number(port.gigabitsPerSecond()) + " Gb/s" : "")
                + (port.netdev().isEmpty() ? "" : " (" + joined(port.netdev(), network(port)) + ")")
                + topology.obstacle(nic, port, -1)
                        .filter(obstacle -> obstacle != PortObstacle.DOWN && obstacle != PortObstacle.NOT_LISTED)
                        .map(obstacle -> ", not usable: " + obstacle)
                        .orElse("");
    }

    /** Leaves out InfiniBand's prefixes, which mean nothing to people. */
    private static String network(NicPort port) {
        return port.linkLayer() == NicReach.LinkLayer.ETHERNET ? port.network() : "";
    }

    private static String layer(NicReach.LinkLayer layer) {
        return switch (layer) {
            case INFINIBAND -> " InfiniBand";
            case ETHERNET -> " Ethernet";
            case UNSPECIFIED -> "";
        };
    }

    private static String processor(Processor processor) {
        return joined(
                processor.architecture(),
                processor.vendor().strip(),
                processor.family() < 0 ? "" : "family " + processor.family() + " model " + processor.model());
    }

    private String processorLinks(NumaNode node) {
        return topology.neighbours(node).stream()
                .filter(NumaNode.class::isInstance)
                .flatMap(other -> topology.links(node, other).stream()
                        .filter(link -> link.type() == LinkType.CPU)
                        .map(link -> "to " + other.name() + rate(link.gigabytesPerSecond())))
                .sorted()
                .collect(Collectors.joining(", "));
    }

    private static String up(Optional<Link> up) {
        return up.filter(link -> link.type() == LinkType.PCI)
                .map(link -> rate(link.gigabytesPerSecond()))
                .filter(rate -> !rate.isEmpty())
                .map(rate -> "PCIe" + rate)
                .orElse("");
    }

    /** Returns the switches between GPUs, with the links to them. */
    String gpuSwitch(GpuSwitch bar) {
        List<Part> gpus =
                topology.neighbours(bar).stream().filter(Gpu.class::isInstance).toList();
        String links = gpus.stream()
                .flatMap(gpu -> topology.links(gpu, bar).stream())
                .map(link -> link.count() + (link.count() == 1 ? " link" : " links") + rate(link.gigabytesPerSecond()))
                .distinct()
                .sorted()
                .collect(Collectors.joining(" or "));
        return joined(
                bar.name(),
                gpus.size() + " GPUs",
                links.isEmpty() ? "" : links + " each",
                packageLinks(bar, gpus)
                        .map(link -> "xGMI x" + link.count() + rate(link.gigabytesPerSecond()) + " to others")
                        .orElse(""));
    }

    /** Returns the links to other GPUs that the partitions of a package share. */
    private Optional<Link> packageLinks(GpuSwitch bar, List<Part> inside) {
        return topology.neighbours(bar).stream()
                .filter(part -> part instanceof GpuSwitch || !inside.contains(part))
                .flatMap(part -> topology.links(bar, part).stream())
                .reduce((a, b) ->
                        new Link(a.type(), a.gigabytesPerSecond() + b.gigabytesPerSecond(), a.count() + b.count()));
    }

    private static String id(PciId id) {
        return id.vendor() < 0 ? "" : id.toString();
    }

    static String name(LinkType type) {
        return switch (type) {
            case NVLINK -> "NVLink";
            case XGMI -> "xGMI";
            case PCI -> "PCIe";
            case ROOT, CPU, C2C -> type.toString();
        };
    }

    /** A number with one decimal at most. */
    static String number(double value) {
        String text = String.format(Locale.ROOT, "%.1f", value);
        return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
    }

    static String joined(String... texts) {
        return Stream.of(texts).filter(text -> !text.isEmpty()).collect(Collectors.joining(", "));
    }
}
