package org.ep4j.cli.plan;

import java.util.Map;
import org.ep4j.topology.Gpu;
import org.ep4j.topology.GpuVendor;

/**
 * GPUs that are built only into boards that join all of them by NVLink (HGX and DGX), by their PCI device ids (pci.ids).
 * Many descriptions of machines leave GPU links out.
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
            0x3182, "sm_103"); // B300 SXM6

    private KnownGpuLinks() {}

    /** True when every such GPU of a host reaches every other by NVLink. */
    static boolean joined(Gpu gpu) {
        return gpu.vendor() == GpuVendor.NVIDIA
                && ALWAYS_JOINED.containsKey(gpu.id().device());
    }

    /** Its architecture, where the description has none. */
    static String architecture(Gpu gpu) {
        return gpu.architecture().isEmpty() && gpu.vendor() == GpuVendor.NVIDIA
                ? ALWAYS_JOINED.getOrDefault(gpu.id().device(), "")
                : gpu.architecture();
    }
}
