package org.ep4j.gpu.topology;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.topology.Nvml.NvmlGpu;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.GpuSwitch;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Part;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.TopologySource;

/** Source of NVLinks, NVLink domains, names and compute capabilities of NVIDIA's GPUs: NVML. */
public final class NvmlSource implements TopologySource {
    @Override
    public String id() {
        return "nvml";
    }

    @Override
    public Topology refine(Topology topology) {
        boolean expected = topology.gpus().stream().anyMatch(gpu -> gpu.vendor() == GpuVendor.NVIDIA);
        Optional<Nvml> nvml;
        try {
            nvml = Nvml.find();
        } catch (EpUnavailableException e) {
            return expected ? topology.withWarnings(List.of("NVLinks are not known: " + e.getMessage())) : topology;
        }
        if (nvml.isEmpty()) {
            return expected
                    ? topology.withWarnings(
                            List.of("libnvidia-ml.so.1 is not found, so NVLinks are not known; install the driver's "
                                    + "user-space libraries, or run the container with the \"utility\" capability"))
                    : topology;
        }
        try {
            return refine(topology, nvml.get());
        } catch (IllegalStateException e) {
            // The library without a driver is usual in images that run anywhere.
            return expected ? topology.withWarnings(List.of("NVLinks are not known: " + e.getMessage())) : topology;
        } catch (RuntimeException | LinkageError e) {
            return topology.withWarnings(List.of("NVML could not be used: " + e));
        }
    }

    /** Adds the facts of the library, with a warning for each GPU that it refuses. */
    static Topology refine(Topology topology, Nvml nvml) {
        return new NvmlMerge(topology, nvml.gpus()).merge().withWarnings(nvml.warnings());
    }

    /**
     * Adds the facts of NVML to a machine. GPUs of NVML come first, in its order, which is that of CUDA with
     * {@code CUDA_DEVICE_ORDER=PCI_BUS_ID}. GPUs of NVIDIA that it does not list are left out: {@code /sys} has all GPUs of the
     * host also in a container, and CUDA does not number those that the process may not use.
     */
    static final class NvmlMerge {
        private final Topology topology;
        private final List<NvmlGpu> shown;
        private final Map<PciAddress, Gpu> gpus = new LinkedHashMap<>();
        private final Set<PciAddress> hidden = new HashSet<>();

        NvmlMerge(Topology topology, List<NvmlGpu> shown) {
            this.topology = topology;
            this.shown = shown;
        }

        Topology merge() {
            Map<PciAddress, NvmlGpu> unknown = new LinkedHashMap<>();
            shown.forEach(gpu -> unknown.put(gpu.address(), gpu));
            Map<Part, Gpu> changed = new HashMap<>();
            int next = shown.size();
            long invisible = 0;
            for (Gpu old : topology.gpus()) {
                Optional<NvmlGpu> known = old.address().map(unknown::remove);
                if (known.isPresent()) {
                    Gpu gpu = gpu(old, known.get());
                    changed.put(old, gpu);
                    gpus.put(known.get().address(), gpu);
                } else if (old.vendor() == GpuVendor.NVIDIA) {
                    invisible++;
                    old.address().ifPresent(hidden::add);
                } else {
                    changed.put(old, numbered(old, next++).build());
                }
            }
            Topology.Builder builder = topology.copy(
                    topology.source(),
                    part -> part instanceof Gpu ? Optional.ofNullable(changed.get(part)) : Optional.of(part));
            unknown.values().forEach(lacking -> add(builder, lacking));
            if (invisible > 0) {
                builder.warn("NVML does not show " + invisible
                        + " of the NVIDIA GPUs on PCI; they are left out, because they are outside this container"
                        + " or have no driver");
            }
            shown.forEach(gpu -> links(builder, gpu));
            return builder.build();
        }

        private static Gpu gpu(Gpu old, NvmlGpu known) {
            return numbered(old, known.index())
                    .architecture(known.capability() < 0 ? old.architecture() : "sm_" + known.capability())
                    .model(known.name().isEmpty() ? old.model() : known.name())
                    .clique(known.clique())
                    .build();
        }

        private static Gpu.Builder numbered(Gpu old, int index) {
            return old.toBuilder().index(index).name("GPU" + index);
        }

        private void add(Topology.Builder builder, NvmlGpu lacking) {
            Gpu bare = Gpu.builder(0, lacking.index(), GpuVendor.NVIDIA)
                    .address(Optional.of(lacking.address()))
                    .build();
            Gpu gpu = gpu(bare, lacking);
            gpus.put(lacking.address(), gpu);
            builder.add(gpu);
            builder.warn(gpu.name() + " at " + lacking.address()
                    + " is known to NVML but not in /sys, so its distance to NICs is not known");
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
            if (remote.address().filter(hidden::contains).isPresent()) {
                return Optional.empty();
            }
            return switch (remote.kind()) {
                case PROCESSOR -> numa(gpu).map(node -> node);
                // A GPU that this process may not use.
                case GPU -> Optional.empty();
                // As in NCCL, a hidden end is a switch.
                case SWITCH, UNKNOWN -> Optional.of(new GpuSwitch(gpu.host(), "NVSwitch"));
            };
        }

        private Optional<NumaNode> numa(Gpu gpu) {
            return topology.numaNodes().stream()
                    .filter(node -> node.host() == gpu.host() && node.number() == gpu.numa())
                    .findFirst();
        }
    }
}
