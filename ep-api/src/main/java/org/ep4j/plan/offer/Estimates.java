package org.ep4j.plan.offer;

/** The figures behind offers and forecasts, each with its source. They are few on purpose, and none belongs to one product. */
public final class Estimates {
    /**
     * Part of the bandwidth of GPU links that all GPUs reach when all exchange at once. Measured: 326 GB/s leave every one of
     * 4 H200 over NVSwitch, whose 18 links count 20.6 GB/s each in NCCL ({@code graph/topo.h}).
     */
    public static final double GPU_LINK_EFFICIENCY = 0.88;

    /** Part of the rate of NICs that large exchanges reach: mostly 43 to 46 of 50 GB/s (DeepEP, UCCL-EP, ConnectX-7 400G). */
    public static final double NIC_EFFICIENCY = 0.9;

    /** The same with one message for each token: mostly 36 to 43 of 50 GB/s (DeepEP and NCCL EP, ConnectX-7 400G). */
    public static final double NIC_EFFICIENCY_MESSAGES = 0.81;

    /** One small store and its flag over GPU links, microseconds: half of a round trip of 2 to 3 us, measured on H200. */
    public static final double GPU_LINK_MICROS = 1.2;

    /** One crossing of PCIe, microseconds (NCCL {@code graph/tuning.cc}, PCI). */
    public static final double PCI_MICROS = 1.0;

    /** One crossing of an RDMA network, microseconds (NCCL {@code graph/tuning.cc}, NET). */
    public static final double NETWORK_MICROS = 2.7;

    /** One crossing of a network by EFA's reliable datagrams, microseconds: an assumption. */
    public static final double EFA_MICROS = 15;

    /** One message through sockets, microseconds: an assumption. */
    public static final double SOCKET_MICROS = 30;

    /** Most that one rank moves through sockets, GB/s: an assumption, two streams of one core each. */
    public static final double SOCKET_GIGABYTES = 2.5;

    /** Rate of a NIC in gigabits a second where neither the source nor its PCIe link tells one: an assumption. */
    public static final double UNKNOWN_NIC_GIGABITS = 100;

    /**
     * Bytes that a host moves through its memory for ranks whose bytes take that detour, GB/s: half (each byte is written and
     * read) of the 204.8 GB/s of eight channels of DDR4-3200 (JEDEC), one socket's worth.
     */
    public static final double STAGING_GIGABYTES = 102.4;

    /** PCIe link of a GPU to its processor where the source does not tell, GB/s: generation 4, 16 lanes (NCCL). */
    public static final double PCI_GIGABYTES = 24;

    /**
     * What an operation takes on a GPU before the first byte and after the last, microseconds: launch, flags, reading the
     * routing. Measured: 20.7 us for a low-latency exchange of 4.97 MB a rank on H200, of which 15.2 at 326 GB/s.
     */
    public static final double OPERATION_MICROS = 5.5;

    private Estimates() {}
}
