package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.ep4j.cli.plan.SimulationOptions.GpuLinks;
import org.ep4j.plan.offer.GpuPaths;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.LinkBandwidths;

/** Puts GPU links into a description that leaves them out, or takes them away, and says so. */
final class GpuLinkChoice {
    private final GpuLinks choice;
    private final Set<String> assumptions;

    GpuLinkChoice(GpuLinks choice, Set<String> assumptions) {
        this.choice = choice;
        this.assumptions = assumptions;
    }

    /**
     * The machine around a GPU, as planned.
     *
     * @param gpus those of its host
     * @param linked whether the description shows links of any of them
     */
    Locality apply(Gpu gpu, List<Gpu> gpus, Locality locality, boolean linked) {
        Locality described = locality.toBuilder()
                .architecture(KnownGpuLinks.architecture(gpu))
                .build();
        return switch (choice) {
            case FILE -> described;
            case NONE -> {
                assumptions.add("GPUs without links between them, as --gpu-links none requires");
                yield described.toBuilder().peers(withoutLinks(described)).build();
            }
            case ALL -> {
                assumptions.add("all GPUs of a host joined by links through switches, as --gpu-links all requires");
                yield described.toBuilder().peers(joined(described, gpu, gpus)).build();
            }
            case AUTO -> {
                boolean silent = !isLinked(locality);
                if (silent && linked) {
                    assumptions.add("the description shows links of other GPUs, but no links of " + gpu.name()
                            + gpu.address().map(address -> " (" + address + ")").orElse("")
                            + ", so this GPU is planned without links (to plan with links, give --gpu-links all)");
                }
                if (!silent || linked || gpus.size() < 2) {
                    yield described;
                }
                if (!gpus.stream().allMatch(KnownGpuLinks::joined)) {
                    assumptions.add("the description shows no GPU links, and "
                            + (gpu.id().device() < 0
                                    ? "does not name the GPU model"
                                    : "GPUs of this model may have none")
                            + ", so the GPUs are planned without links (to plan with links, give --gpu-links all)");
                    yield described;
                }
                assumptions.add("the description shows no GPU links, but GPUs of this model (" + gpu.id()
                        + ") are always joined by " + (gpu.vendor() == GpuVendor.AMD ? "xGMI" : "NVLink")
                        + ", so they are planned with these links (to plan without links, give --gpu-links file)");
                yield described.toBuilder().peers(joined(described, gpu, gpus)).build();
            }
        };
    }

    /** True where the description shows a link of the GPU to another one. */
    static boolean isLinked(Locality locality) {
        return locality.peers().stream().anyMatch(peer -> peer.link() != LinkType.PCI);
    }

    private static List<GpuPeer> joined(Locality described, Gpu gpu, List<Gpu> gpus) {
        boolean amd = gpu.vendor() == GpuVendor.AMD;
        // xGMI joins every pair directly, NVLink goes through switches that all links of a GPU lead to.
        Distance distance = amd
                ? new Distance(PathType.NVL, LinkBandwidths.xgmi(described.architecture()), 1)
                : new Distance(PathType.NVL, GpuPaths.nvlink(described.architecture()), 2);
        List<GpuPeer> peers = new ArrayList<>();
        for (Gpu other : gpus) {
            if (!other.equals(gpu)) {
                int card = described.peer(other.index()).map(GpuPeer::card).orElse(other.index());
                peers.add(GpuPeer.of(other.index(), distance, amd ? LinkType.XGMI : LinkType.NVLINK)
                        .partOf(card));
            }
        }
        return peers;
    }

    private static List<GpuPeer> withoutLinks(Locality locality) {
        return locality.peers().stream()
                .map(peer -> peer.link() == LinkType.PCI
                        ? peer
                        : GpuPeer.of(peer.gpu(), new Distance(PathType.SYS, 0, 0), LinkType.PCI)
                                .partOf(peer.card()))
                .toList();
    }
}
