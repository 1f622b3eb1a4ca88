package org.ep4j.topology;

import java.util.Locale;

/**
 * Families of NIC that differ in what they can do; found by kernel driver first, then by PCI vendor, never by name.
 * Constants may be added: keep a {@code default} where you switch over them.
 */
public enum NicFamily {
    /** NVIDIA (Mellanox) ConnectX and BlueField with the mlx5 driver. */
    MLX5,
    /** AWS Elastic Fabric Adapter. */
    EFA,
    /** Broadcom NetXtreme-E (Thor, Thor-2) with bnxt_re. */
    BNXT,
    /** AMD Pensando, Pollara, with ionic. */
    IONIC,
    /** Intel E800 with irdma. */
    IRDMA,
    /** HPE Slingshot (Cassini) with cxi. */
    CXI,
    /** Verbs in software over any Ethernet: rxe. */
    RXE,
    /** iWARP in software: siw. */
    SIW,
    /** RDMA, of a family that is not known here. */
    OTHER_RDMA,
    /** No RDMA: sockets only. */
    ETHERNET;

    /**
     * Returns true if NICs of this family take RDMA requests (verbs or libfabric); the kernel carries them out where
     * {@link #software}.
     */
    public boolean rdma() {
        return this != ETHERNET;
    }

    /** Name for people. */
    public String displayName() {
        return switch (this) {
            case EFA -> "EFA";
            case CXI -> "Slingshot (cxi)";
            case OTHER_RDMA -> "RDMA of an unknown kind";
            case ETHERNET -> "plain Ethernet";
            default -> name().toLowerCase(Locale.ROOT);
        };
    }

    /** Returns true if the work is done by the kernel in software, which cannot reach GPU memory. */
    public boolean software() {
        return this == RXE || this == SIW;
    }
}
