package org.ep4j.plan.offer;

/** The figures behind offers and forecasts, each with its source. They are few on purpose, and none belongs to one product. */
public final class Estimates {
    /**
     * Fraction of the bandwidth of GPU links that all GPUs reach when all exchange at once. Measured: 326 GB/s leave
     * every one of 4 H200 over NVSwitch, whose 18 links count 20.6 GB/s each in NCCL ({@code graph/topo.h}).
     */
    public static final double GPU_LINK_EFFICIENCY = 0.88;

    /**
     * Fraction of the rate of NICs that large exchanges reach: mostly 43 to 46 of 50 GB/s (DeepEP, UCCL-EP, ConnectX-7
     * 400G).
     */
    public static final double NIC_EFFICIENCY = 0.9;

    /**
     * Fraction of the rate of NICs that large exchanges reach with one message for each token: mostly 36 to 43 of 50
     * GB/s (DeepEP and NCCL EP, ConnectX-7 400G).
     */
    public static final double NIC_EFFICIENCY_MESSAGES = 0.81;

    /**
     * Time of one small store and its flag over GPU links, in microseconds: half of a round trip of 2 to 3 us, measured
     * on H200.
     */
    public static final double GPU_LINK_MICROS = 1.2;

    /** Time of one crossing of PCIe, in microseconds (NCCL {@code graph/tuning.cc}, PCI). */
    public static final double PCI_MICROS = 1.0;

    /** Time of one crossing of an RDMA network, in microseconds (NCCL {@code graph/tuning.cc}, NET). */
    public static final double NETWORK_MICROS = 2.7;

    /** Time of one crossing of a network by EFA's reliable datagrams, in microseconds: an assumption. */
    public static final double EFA_MICROS = 15;

    /** Time of one message through sockets, in microseconds: an assumption. */
    public static final double SOCKET_MICROS = 30;

    /**
     * Highest bandwidth of one rank through sockets, in GB/s: an assumption, for two streams that use one core each.
     */
    public static final double SOCKET_GIGABYTES = 2.5;

    /** Rate of a NIC in gigabits a second if neither the source nor its PCIe link gives one: an assumption. */
    public static final double UNKNOWN_NIC_GIGABITS = 100;

    /**
     * Bandwidth at which a host stages bytes of its ranks in host memory, in GB/s. It is half of 204.8 GB/s, because
     * each byte is written and read; one socket with eight channels of DDR4-3200 (JEDEC) has 204.8 GB/s.
     */
    public static final double STAGING_GIGABYTES = 102.4;

    /** Bandwidth of a GPU's PCIe link if the source does not give it, in GB/s: generation 4, 16 lanes (NCCL). */
    public static final double PCI_GIGABYTES = 24;

    /**
     * Time in microseconds that an operation takes on a GPU before its first byte and after its last one, for the
     * launch, the flags and reading the routing. Measured: 20.7 us for a low-latency exchange of 4.97 MB a rank on
     * H200, of which 15.2 at 326 GB/s.
     */
    public static final double OPERATION_MICROS = 5.5;

    private Estimates() {}
}
