package org.ep4j.topology.read;

import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;

/** GPUs of AMD's compute driver with their xGMI links, in the order of the driver's nodes, which HIP uses too. */
final class KfdGpus {
    /** Fraction of the rate of a PCIe link that is reached; the driver reports the rate. */
    private static final double PCI_SHARE = 0.75;

    private final SysFiles sys;
    private final PciTree pci;
    private final NumaNodes numa;
    private final Topology.Builder builder;
    private final int host;
    private final Map<Integer, KfdNode> nodes;

    /** NUMA node of each node that is a processor: both are counted in the same order. */
    private final Map<Integer, Integer> processors = new LinkedHashMap<>();

    private final Map<Integer, Gpu> gpus = new LinkedHashMap<>();

    /** True if the driver reports a link between packages without its bandwidth. */
    private boolean unknownWidth;

    /** GPUs that one link leads to, by node. */
    private final Map<Integer, Set<Integer>> near = new HashMap<>();

    KfdGpus(SysFiles sys, PciTree pci, NumaNodes numa, Topology.Builder builder, int host) {
        this.sys = sys;
        this.pci = pci;
        this.numa = numa;
        this.builder = builder;
        this.host = host;
        nodes = KfdNode.readAll(sys.tree());
    }

    /** Adds the GPUs, numbered from {@code first} on, and returns their number. */
    int add(int first) {
        boolean unlisted = numa.unlisted();
        nodes.values().stream().filter(KfdNode::processor).forEach(node -> {
            processors.put(node.number(), processors.size());
            if (unlisted) {
                numa.list(processors.size() - 1);
            }
        });
        Map<String, Long> cards = nodes.values().stream()
                .filter(KfdNode::gpu)
                .collect(Collectors.groupingBy(KfdNode::card, Collectors.counting()));
        nodes.values().stream().filter(KfdNode::gpu).forEach(node -> {
            boolean divided = !node.card().isEmpty() && cards.getOrDefault(node.card(), 1L) > 1;
            add(node, first + gpus.size(), divided ? node.card() : "");
        });
        GpuPackages packages = new GpuPackages(builder, List.copyOf(gpus.values()));
        gpus.keySet().forEach(number -> join(number, packages));
        packages.finish();
        if (unknownWidth) {
            builder.assume(
                    "GPUs that are divided into partitions are joined by one xGMI link each, because the driver does not report"
                            + " the bandwidth between their partitions (a recording of the same machine in SPX mode has it)");
        }
        return gpus.size();
    }

    private void add(KfdNode node, int index, String card) {
        Optional<PciAddress> address = node.address();
        Optional<PciTree.Place> place = address.flatMap(at -> pci.place(at).or(() -> pci.place(at.card())));
        PciId reported = new PciId((int) node.get("vendor_id"), (int) node.get("device_id"), -1, -1, -1);
        Gpu gpu = Gpu.builder(host, index, GpuVendor.AMD)
                .address(address)
                .id(place.map(at -> sys.id(at.device())).orElse(reported))
                .architecture(node.architecture())
                .model(place.map(at -> sys.text(at.device() + "/product_name")).orElse(""))
                .numa(place.map(pci::numa).filter(number -> number >= 0).orElseGet(() -> nearest(node)))
                .card(card)
                .build();
        gpus.put(node.number(), gpu);
        if (place.isPresent()) {
            pci.attach(gpu, place.get());
        } else {
            builder.add(gpu);
            linkToProcessor(node, gpu);
        }
        boolean atomics = node.links().stream()
                .filter(link -> processors.containsKey(link.to()))
                .allMatch(KfdNode.Link::atomics);
        if (!atomics) {
            builder.warn(gpu.name() + " has no PCIe atomics towards its processor (flags of its io_links)");
        }
    }

    /** NUMA node of the processor with the cheapest link. */
    private int nearest(KfdNode node) {
        if (node.processor()) {
            return numa.known(processors.getOrDefault(node.number(), -1));
        }
        return numa.known(toProcessor(node)
                .map(link -> processors.getOrDefault(link.to(), -1))
                .orElse(-1));
    }

    private Optional<KfdNode.Link> toProcessor(KfdNode node) {
        return node.links().stream()
                .filter(link -> processors.containsKey(link.to()))
                .min(Comparator.comparingLong(KfdNode.Link::weight));
    }

    private void linkToProcessor(KfdNode node, Gpu gpu) {
        NumaNode near = numa.get(gpu.numa());
        Optional<KfdNode.Link> link = toProcessor(node);
        double reported = link.map(way -> way.mostMegabytes() / 1000.0).orElse(0.0);
        if (node.processor() || link.filter(KfdNode.Link::xgmi).isPresent()) {
            builder.link(near, gpu, new Link(LinkType.C2C, reported > 0 ? reported : LinkBandwidths.UNLIMITED, 1));
        } else {
            double bandwidth = reported > 0 ? reported * PCI_SHARE : LinkBandwidths.pci(0, 0);
            builder.link(near, gpu, new Link(LinkType.PCI, bandwidth, 1));
        }
    }

    /** xGMI from a GPU to those with higher numbers. */
    private void join(int number, GpuPackages packages) {
        Map<Integer, KfdNode.Link> best = new LinkedHashMap<>();
        for (KfdNode.Link link : links(number)) {
            if (link.xgmi() && link.to() > number && gpus.containsKey(link.to())) {
                best.merge(link.to(), link, (a, b) -> a.weight() <= b.weight() ? a : b);
            }
        }
        Gpu gpu = gpus.get(number);
        best.forEach((to, link) -> {
            Gpu other = gpus.get(to);
            if (gpu != null && other != null && !relayed(number, to, link)) {
                unknownWidth |= !gpu.card().isEmpty() && !link.inside() && link.mostMegabytes() <= 0;
                packages.join(gpu, other, xgmi(link, gpu.architecture()));
            }
        });
    }

    /** Returns true for two links through a GPU that is shown: those are in the machine already. */
    private boolean relayed(int from, int to, KfdNode.Link link) {
        return link.hops() == 2 && !Collections.disjoint(neighbours(from), neighbours(to));
    }

    /** GPUs that one link leads to. */
    private Set<Integer> neighbours(int number) {
        return near.computeIfAbsent(
                number,
                from -> links(from).stream()
                        .filter(link -> link.xgmi() && link.hops() == 1 && gpus.containsKey(link.to()))
                        .map(KfdNode.Link::to)
                        .collect(Collectors.toSet()));
    }

    private List<KfdNode.Link> links(int number) {
        return Optional.ofNullable(nodes.get(number)).map(KfdNode::links).orElse(List.of());
    }

    private static Link xgmi(KfdNode.Link link, String architecture) {
        double one = LinkBandwidths.xgmi(architecture);
        // What GPUs pass on that are not shown shares their links.
        int count = link.hops() > 1 ? 1 : link.count();
        return new Link(LinkType.XGMI, one * count / link.hops(), count);
    }
}
