package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.topology.Distance;
import org.ep4j.topology.GpuPeer;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.Locality;
import org.ep4j.topology.PathType;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.LinkBandwidths;

/** Puts GPU links into a description that leaves them out, or takes them away, and says so. */
record GpuLinkChoice(GpuLinks choice, Set<String> assumptions) {
    /**
     * GPUs that are built only into boards that join all of them, by NVLink (HGX and DGX) or xGMI (OAM), by their PCI device ids
     * (pci.ids). Many descriptions of machines leave GPU links out.
     */
    private static final Map<Integer, String> ALWAYS_JOINED = Map.of(
            0x20b0, "sm_80", // A100 SXM4 40GB
            0x20b2, "sm_80", // A100 SXM4 80GB
            0x2324, "sm_90", // H800 SXM5
            0x2329, "sm_90", // H20
            0x2330, "sm_90", // H100 SXM5 80GB
            0x2335, "sm_90", // H200 SXM 141GB
            0x2901, "sm_100", // B200
            0x2941, "sm_100", // GB200
            0x3182, "sm_103", // B300 SXM6
            0x31c2, "sm_103"); // GB300

    private static final Set<Integer> ALWAYS_JOINED_AMD = Set.of(
            0x74a1, // MI300X
            0x74a2, // MI308X
            0x74a5, // MI325X
            0x74a9, // MI300X HF
            0x75a0, // MI350X
            0x75a3); // MI355X

    /**
     * Returns the locality of a GPU, as planned.
     *
     * @param gpus those of its host
     * @param linked whether the description shows links of any of them
     */
    Locality apply(Gpu gpu, List<Gpu> gpus, Locality locality, boolean linked) {
        Locality described =
                locality.toBuilder().architecture(architecture(gpu)).build();
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
                if (!gpus.stream().allMatch(GpuLinkChoice::alwaysJoined)) {
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

    /** Returns whether the description shows a link of the GPU to another one. */
    static boolean isLinked(Locality locality) {
        return locality.peers().stream().anyMatch(peer -> peer.link() != LinkType.PCI);
    }

    private static List<GpuPeer> joined(Locality described, Gpu gpu, List<Gpu> gpus) {
        boolean amd = gpu.vendor() == GpuVendor.AMD;
        // xGMI joins every pair directly, NVLink goes through switches that all links of a GPU lead to.
        Distance distance = amd
                ? new Distance(PathType.NVL, LinkBandwidths.xgmi(described.architecture()), 1)
                : new Distance(PathType.NVL, LinkBandwidths.nvlinks(described.architecture()), 2);
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

    /** Returns whether every such GPU of a host reaches every other by NVLink or xGMI. */
    private static boolean alwaysJoined(Gpu gpu) {
        int device = gpu.id().device();
        return switch (gpu.vendor()) {
            case NVIDIA -> ALWAYS_JOINED.containsKey(device);
            case AMD -> ALWAYS_JOINED_AMD.contains(device);
            default -> false;
        };
    }

    /** Returns the architecture, also where the description has none. */
    private static String architecture(Gpu gpu) {
        return gpu.architecture().isEmpty() && gpu.vendor() == GpuVendor.NVIDIA
                ? ALWAYS_JOINED.getOrDefault(gpu.id().device(), "")
                : gpu.architecture();
    }
}
