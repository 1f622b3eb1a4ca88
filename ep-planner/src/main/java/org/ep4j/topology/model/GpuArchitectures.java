package org.ep4j.topology.model;

import java.util.Map;
import org.ep4j.topology.GpuVendor;

/**
 * Architectures of GPUs by PCI device id, for sources that name the device and nothing more. Only accelerators of data
 * centres are known; ids are those of the PCI ID repository (pci-ids.ucw.cz).
 */
public final class GpuArchitectures {
    private static final int NVIDIA = 0x10de;
    private static final int AMD = 0x1002;

    private static final Map<Integer, String> INSTINCT = Map.ofEntries(
            Map.entry(0x66a0, "gfx906"),
            Map.entry(0x66a1, "gfx906"),
            Map.entry(0x738c, "gfx908"),
            Map.entry(0x738e, "gfx908"),
            Map.entry(0x7408, "gfx90a"),
            Map.entry(0x740c, "gfx90a"),
            Map.entry(0x740f, "gfx90a"),
            Map.entry(0x7410, "gfx90a"),
            Map.entry(0x74a0, "gfx942"),
            Map.entry(0x74a1, "gfx942"),
            Map.entry(0x74a2, "gfx942"),
            Map.entry(0x74a5, "gfx942"),
            Map.entry(0x74a9, "gfx942"),
            Map.entry(0x74b5, "gfx942"),
            Map.entry(0x75a0, "gfx950"),
            Map.entry(0x75a3, "gfx950"),
            Map.entry(0x75a8, "gfx950"));

    private GpuArchitectures() {}

    /** Architecture of a GPU, written as in {@link Gpu#architecture}; empty if unknown. */
    public static String of(PciId id) {
        return switch (id.vendor()) {
            case NVIDIA -> nvidia(id.device());
            case AMD -> INSTINCT.getOrDefault(id.device(), "");
            default -> "";
        };
    }

    /** Maker of a GPU, by its PCI vendor id. */
    public static GpuVendor vendor(int pciVendor) {
        return switch (pciVendor) {
            case NVIDIA -> GpuVendor.NVIDIA;
            case AMD -> GpuVendor.AMD;
            default -> GpuVendor.OTHER;
        };
    }

    /** Device ids of one chip are next to each other. */
    private static String nvidia(int device) {
        return switch (device >> 7) {
            case 0x15f0 >> 7 -> device >= 0x15f0 ? "sm_60" : "";
            case 0x1db0 >> 7 -> "sm_70";
            case 0x20b0 >> 7 -> "sm_80";
            case 0x2230 >> 7 -> "sm_86";
            case 0x26b0 >> 7, 0x27b0 >> 7 -> "sm_89";
            case 0x2330 >> 7 -> "sm_90";
            case 0x2900 >> 7 -> "sm_100";
            case 0x3180 >> 7 -> "sm_103";
            default -> "";
        };
    }
}
