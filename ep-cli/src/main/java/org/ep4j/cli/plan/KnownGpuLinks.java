package org.ep4j.cli.plan;

import java.util.Map;
import java.util.Set;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Gpu;

/**
 * GPUs that are built only into boards that join all of them, by NVLink (HGX and DGX) or xGMI (OAM), by their PCI device ids
 * (pci.ids). Many descriptions of machines leave GPU links out.
 */
final class KnownGpuLinks {
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

    private KnownGpuLinks() {}

    /** True when every such GPU of a host reaches every other by NVLink or xGMI. */
    static boolean joined(Gpu gpu) {
        int device = gpu.id().device();
        return switch (gpu.vendor()) {
            case NVIDIA -> ALWAYS_JOINED.containsKey(device);
            case AMD -> ALWAYS_JOINED_AMD.contains(device);
            default -> false;
        };
    }

    /** Its architecture, where the description has none. */
    static String architecture(Gpu gpu) {
        return gpu.architecture().isEmpty() && gpu.vendor() == GpuVendor.NVIDIA
                ? ALWAYS_JOINED.getOrDefault(gpu.id().device(), "")
                : gpu.architecture();
    }
}
