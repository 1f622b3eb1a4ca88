package org.ep4j.engine.topology;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuSwitch;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.Link;
import org.ep4j.topology.LinkBandwidths;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.NumaNode;
import org.ep4j.topology.Part;
import org.ep4j.topology.PciAddress;
import org.ep4j.topology.PciId;
import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyCopy;

/**
 * Adds to a machine what NVML tells. GPUs that NVML shows come first, in its order, which is that of CUDA with
 * {@code CUDA_DEVICE_ORDER=PCI_BUS_ID}; others stay behind them, since no process may use these.
 */
final class NvmlMerge {
    private final Topology topology;
    private final List<NvmlGpu> shown;
    private final Map<PciAddress, Gpu> gpus = new LinkedHashMap<>();

    NvmlMerge(Topology topology, List<NvmlGpu> shown) {
        this.topology = topology;
        this.shown = shown;
    }

    Topology merge() {
        Map<PciAddress, NvmlGpu> unknown = new LinkedHashMap<>();
        shown.forEach(gpu -> unknown.put(gpu.address(), gpu));
        Map<Gpu, Gpu> changed = new HashMap<>();
        List<Gpu> hidden = new ArrayList<>();
        for (Gpu old : topology.gpus()) {
            Optional<NvmlGpu> known = old.address().map(unknown::remove);
            if (known.isPresent()) {
                Gpu gpu = gpu(old, known.get());
                changed.put(old, gpu);
                gpus.put(known.get().address(), gpu);
            } else {
                hidden.add(old);
            }
        }
        int next = shown.size();
        for (Gpu old : hidden) {
            Gpu gpu = renamed(old, next++);
            changed.put(old, gpu);
            // Links of those that are shown may end there.
            old.address().ifPresent(address -> gpus.put(address, gpu));
        }
        Topology.Builder builder = TopologyCopy.of(
                topology, topology.source(), part -> part instanceof Gpu gpu ? changed.getOrDefault(gpu, gpu) : part);
        unknown.values().forEach(lacking -> add(builder, lacking));
        long invisible =
                hidden.stream().filter(gpu -> gpu.vendor() == GpuVendor.NVIDIA).count();
        if (invisible > 0) {
            builder.warn("NVML does not show " + invisible
                    + " of NVIDIA's GPUs that are on PCI; they are outside of this container, or without the driver");
        }
        shown.forEach(gpu -> links(builder, gpu));
        return builder.build();
    }

    private static Gpu gpu(Gpu old, NvmlGpu known) {
        return new Gpu(
                old.host(),
                known.index(),
                "GPU" + known.index(),
                old.address(),
                old.id(),
                old.vendor(),
                known.capability() < 0 ? old.architecture() : "sm_" + known.capability(),
                known.name().isEmpty() ? old.model() : known.name(),
                old.numa(),
                old.gpuDirect(),
                known.clique());
    }

    private static Gpu renamed(Gpu old, int index) {
        return new Gpu(
                old.host(),
                index,
                "GPU" + index,
                old.address(),
                old.id(),
                old.vendor(),
                old.architecture(),
                old.model(),
                old.numa(),
                old.gpuDirect(),
                old.clique());
    }

    private void add(Topology.Builder builder, NvmlGpu lacking) {
        Gpu none = new Gpu(
                0,
                lacking.index(),
                "",
                Optional.of(lacking.address()),
                PciId.UNKNOWN,
                GpuVendor.NVIDIA,
                "",
                "",
                -1,
                Optional.empty(),
                "");
        Gpu gpu = gpu(none, lacking);
        gpus.put(lacking.address(), gpu);
        builder.add(gpu);
        builder.warn(gpu.name() + " at " + lacking.address()
                + " is known to NVML but not in /sys; how near it is to NICs is" + " not known");
    }

    private void links(Topology.Builder builder, NvmlGpu from) {
        Gpu gpu = gpus.get(from.address());
        if (gpu == null) {
            return;
        }
        Map<Part, Integer> counts = new LinkedHashMap<>();
        for (NvmlGpu.Remote remote : from.links()) {
            other(gpu, remote).ifPresent(part -> counts.merge(part, 1, Integer::sum));
        }
        double one = LinkBandwidths.nvlink(from.capability());
        counts.forEach((part, count) -> {
            // Both ends of a link between GPUs report it.
            boolean second = part instanceof Gpu other && other.index() < gpu.index();
            if (!second) {
                builder.add(part);
                builder.link(gpu, part, new Link(LinkType.NVLINK, one * count, count));
            }
        });
        if (from.chipLinks() > 0) {
            double bandwidth = from.chipMegabytes() * (double) from.chipLinks() / 1000;
            numa(gpu)
                    .ifPresentOrElse(
                            node -> builder.link(gpu, node, new Link(LinkType.C2C, bandwidth, from.chipLinks())),
                            () -> builder.warn(gpu.name() + " has NVLink-C2C, but its NUMA node is not known"));
        }
    }

    private Optional<Part> other(Gpu gpu, NvmlGpu.Remote remote) {
        Optional<Gpu> peer = remote.address().map(gpus::get);
        if (peer.isPresent()) {
            return Optional.of(peer.get());
        }
        return switch (remote.kind()) {
            case PROCESSOR -> numa(gpu).map(node -> node);
            // One that is not shown to this process.
            case GPU -> Optional.empty();
            // As NCCL does: what is hidden is a switch.
            case SWITCH, UNKNOWN -> Optional.of(new GpuSwitch(gpu.host(), "NVSwitch"));
        };
    }

    private Optional<NumaNode> numa(Gpu gpu) {
        return topology.numaNodes().stream()
                .filter(node -> node.host() == gpu.host() && node.number() == gpu.numa())
                .findFirst();
    }
}
