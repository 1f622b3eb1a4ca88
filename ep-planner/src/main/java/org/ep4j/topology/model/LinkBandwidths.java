package org.ep4j.topology.model;

/**
 * Bandwidths of links of known kinds, in one direction, in 1e9 bytes a second. The figures are those that NCCL and RCCL
 * plan with ({@code graph/topo.h}, {@code graph/topo.cc}): what is reached in practice, not the rate of the wire.
 */
public final class LinkBandwidths {
    /** Bandwidth that stands for links that are never the narrowest, such as links inside a processor. */
    public static final double UNLIMITED = 5000;

    /**
     * Bandwidth between partitions of one AMD package. It is what Linux reports ({@code kfd_crat.c}, {@code mem_bw})
     * for them and for no other pairs; nothing measured is known.
     */
    public static final double INSIDE_PACKAGE = 819.2;

    private static final int PCI_WIDTH = 16;

    private LinkBandwidths() {}

    /**
     * Bandwidth of a PCIe link.
     *
     * @param gigatransfers rate of a lane in GT/s: 8 for the third generation; 0 or less when unknown, which counts as 8
     * @param lanes number of lanes; 0 or less when unknown, which counts as 16
     */
    public static double pci(double gigatransfers, int lanes) {
        double perLane = gigatransfers <= 0 ? 8 : gigatransfers;
        // Three quarters of the wire's rate; the two oldest generations lose a fifth to their encoding besides.
        double share = perLane <= 5 ? 0.6 : 0.75;
        return perLane * share / 8 * (lanes <= 0 ? PCI_WIDTH : lanes);
    }

    /**
     * Bandwidth of one NVLink.
     *
     * @param computeCapability major times ten plus minor: 90 for Hopper; -1 when unknown
     */
    public static double nvlink(int computeCapability) {
        if (computeCapability >= 100) {
            return 40.1;
        }
        if (computeCapability >= 90) {
            return 20.6;
        }
        if (computeCapability == 86) {
            return 12;
        }
        return computeCapability >= 60 && computeCapability < 70 ? 18 : 20;
    }

    /**
     * Bandwidth of all NVLinks of a GPU together, for sources that do not give it.
     *
     * @param architecture such as {@code sm_90}; empty when unknown
     */
    public static double nvlinks(String architecture) {
        String digits = architecture.replaceAll("\\D", "");
        int capability = digits.isEmpty() || digits.length() > 4 ? 0 : Integer.parseInt(digits);
        return nvlink(capability) * (capability >= 90 ? 18 : capability >= 80 ? 12 : 6);
    }

    /**
     * Bandwidth of one xGMI link between GPUs.
     *
     * @param architecture such as {@code gfx942}; empty when unknown
     */
    public static double xgmi(String architecture) {
        if (architecture.startsWith("gfx94") || architecture.startsWith("gfx95")) {
            return 48;
        }
        return architecture.equals("gfx90a") ? 36 : 24;
    }

    /** Bandwidth between two processors (NUMA nodes) of a kind. */
    public static double processors(Processor kind) {
        return switch (kind.architecture()) {
            case "ppc64" -> 32;
            case "arm64" -> 6;
            default ->
                switch (kind.vendor()) {
                    case "GenuineIntel" -> intel(kind);
                    case "AuthenticAMD" -> 16;
                    case "CentaurHauls", "  Shanghai  " -> kind.family() == 7 && kind.model() == 0x5b ? 9 : 6;
                    default -> UNLIMITED;
                };
        };
    }

    private static double intel(Processor kind) {
        if (kind.family() != 6 || kind.model() < 0x55) {
            return 6;
        }
        if (kind.model() >= 0xcf) {
            return 40;
        }
        return kind.model() >= 0x8f ? 22 : 10;
    }
}
