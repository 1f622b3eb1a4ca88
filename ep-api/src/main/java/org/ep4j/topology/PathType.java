package org.ep4j.topology;

/**
 * How near two devices are, nearest first: names of NCCL and {@code nvidia-smi topo} in the order of NCCL ({@code
 * graph.h}), with {@link #NODE} of nvidia-smi, and without NCCL's PXN (to a NIC through another GPU), NET and DIS.
 * Constants may be added: keep a {@code default} where you switch over them.
 */
public enum PathType {
    /** The same device. */
    LOC,
    /** GPU links: NVLink, xGMI, directly or through their switches. */
    NVL,
    /** Two such links, through another GPU. */
    NVB,
    /** A coherent chip link between GPU and processor, such as NVLink-C2C. */
    C2C,
    /** At most one PCIe switch. */
    PIX,
    /** Several PCIe switches, without leaving for the host bridge. */
    PXB,
    /** The GPU reaches its processor by a coherent chip link, the NIC by PCIe. */
    P2C,
    /** Through one PCIe host bridge. */
    PHB,
    /** Through host bridges of one NUMA node. */
    NODE,
    /** Between NUMA nodes. */
    SYS;

    /**
     * Returns true if a NIC at this distance should access GPU memory directly, by NCCL's default {@code
     * NCCL_NET_GDR_LEVEL}.
     */
    public boolean gpuDirect() {
        return compareTo(P2C) <= 0;
    }

    /** The farther of two path types. */
    public PathType max(PathType other) {
        return compareTo(other) >= 0 ? this : other;
    }
}
