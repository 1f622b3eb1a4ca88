package org.ep4j.topology.read;

/**
 * A link from one node of KFD to another. Numbers are as in Linux {@code kfd_crat.h}, weights as in {@code kfd_crat.c}:
 * {@code KFD_CRAT_XGMI_WEIGHT} for each hop that the xGMI firmware reports, {@code KFD_CRAT_INTRA_SOCKET_WEIGHT} inside a
 * package.
 *
 * @param to number of the other node
 * @param direct false for a way through other nodes, which Linux lists in {@code p2p_links} with the properties of its
 *     first link
 * @param type kind of link
 * @param weight cost: 15 for each xGMI link, 13 inside a package, 20 for each PCIe link
 * @param leastMegabytes bandwidth of one link, in megabytes a second; 0 when unknown
 * @param mostMegabytes bandwidth of all links together; 0 when unknown
 * @param flags bit 0 says that it is enabled, bits 2 and 3 that it has no atomics of 32 and 64 bits
 */
public record KfdLink(
        int to, boolean direct, long type, long weight, long leastMegabytes, long mostMegabytes, long flags) {
    private static final int XGMI = 11;
    private static final int XGMI_WEIGHT = 15;

    /** Weight between partitions of one package: {@code KFD_CRAT_INTRA_SOCKET_WEIGHT} of Linux {@code kfd_crat.c}. */
    static final int INSIDE_WEIGHT = 13;

    /** {@code CRAT_IOLINK_FLAGS_NO_ATOMICS_32_BIT} and {@code ..._64_BIT}. */
    private static final int NO_ATOMICS_32 = 1 << 2;

    private static final int NO_ATOMICS_64 = 1 << 3;

    /** Returns true for an xGMI link. */
    public boolean xgmi() {
        return type == XGMI;
    }

    /** Returns true for a link between partitions of one GPU. */
    public boolean inside() {
        return xgmi() && weight == INSIDE_WEIGHT;
    }

    /** Number of xGMI links on the way, at least 1; links between partitions inside a package do not count. */
    public int hops() {
        return hops(weight);
    }

    /** xGMI links on a way of a weight. ROCm SMI prints weights, while the hops that it prints are 1 for all xGMI. */
    static int hops(long weight) {
        long between = weight;
        for (int inside = INSIDE_WEIGHT; inside <= 2 * INSIDE_WEIGHT; inside += INSIDE_WEIGHT) {
            between = (weight - inside) % XGMI_WEIGHT == 0 ? weight - inside : between;
        }
        return (int) Math.max(1, Math.min(99, between / XGMI_WEIGHT));
    }

    /** Number of parallel links. */
    public int count() {
        return inside() || leastMegabytes <= 0 || mostMegabytes < leastMegabytes
                ? 1
                : (int) Math.min(99, mostMegabytes / leastMegabytes);
    }

    /** Returns true if the link carries atomics of 32 and 64 bits. */
    public boolean atomics() {
        return (flags & NO_ATOMICS_32) == 0 && atomics64();
    }

    /** Returns true if the link carries atomics of 64 bits. */
    public boolean atomics64() {
        return (flags & NO_ATOMICS_64) == 0;
    }
}
