package org.ep4j.topology.read;

/** Output of tools on made-up machines. */
final class Texts {
    /** As nvidia-smi writes it to a terminal: tabs, and an underlined header. */
    static final String NVIDIA_SMI = """
            \u001b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u001b[0m
            GPU0\t X \tNV18\tNV18\tPIX\tSYS\t0-55\t0\t\tN/A
            GPU1\tNV18\t X \tNV18\tPXB\tSYS\t0-55\t0\t\tN/A
            GPU2\tNV18\tNV18\t X \tSYS\tPHB\t56-111\t1\t\tN/A
            NIC0\tPIX\tPXB\tSYS\t X \tSYS\t\t\t\t
            NIC1\tSYS\tSYS\tPHB\tSYS\t X \t\t\t\t

            Legend:

              X    = Self
              NV#  = Connection traversing a bonded set of # NVLinks

            NIC Legend:

              NIC0: mlx5_0
              NIC1: mlx5_bond_0
            """;

    /** Of an old version: NICs by name, SOC for SYS. */
    static final String NVIDIA_SMI_OLD = """
                    GPU0    GPU1    mlx5_0  CPU Affinity
            GPU0     X      NV2     SOC     0-19
            GPU1    NV2      X      PHB     20-39
            mlx5_0  SOC     PHB      X
            """;

    /** As a table of Markdown with prose around it. */
    static final String NVIDIA_SMI_TABLE = """
            # Our machine

            |      | GPU0 | GPU1 | NIC0 |
            |------|------|------|------|
            | GPU0 | X    | NODE | PIX  |
            | GPU1 | NODE | X    | SYS  |

            The NIC: NIC0=bnxt_re0/rdma0 (NUMA 1).
            """;

    static final String ROCM_SMI = """
            ============================ ROCm System Management Interface ============================
            ================================ Weight between two GPUs =================================
                   GPU0         GPU1         GPU2
            GPU0   0            15           72
            GPU1   15           0            40
            GPU2   72           40           0

            ================================= Hops between two GPUs ==================================
                   GPU0         GPU1         GPU2
            GPU0   0            1            3
            GPU1   1            0            2
            GPU2   3            2            0

            =============================== Link Type between two GPUs ===============================
                   GPU0         GPU1         GPU2
            GPU0   0            XGMI         PCIE
            GPU1   XGMI         0            PCIE
            GPU2   PCIE         PCIE         0

            ======================================= Numa Nodes =======================================
            GPU[0]\t\t: (Topology) Numa Node: 0
            GPU[0]\t\t: (Topology) Numa Affinity: 0
            GPU[1]\t\t: (Topology) Numa Node: 1
            GPU[1]\t\t: (Topology) Numa Affinity: 1
            GPU[2]\t\t: (Topology) Numa Node: 1
            GPU[2]\t\t: (Topology) Numa Affinity: 1
            ================================== End of ROCm SMI Log ===================================
            """;

    static final String IBV_DEVINFO = """
            hca_id:\tmlx5_0
            \ttransport:\t\t\tInfiniBand (0)
            \tfw_ver:\t\t\t\t28.41.1000
            \tnode_guid:\t\t\ta088:c203:0012:3456
            \tsys_image_guid:\t\t\ta088:c203:0012:3456
            \tvendor_id:\t\t\t0x02c9
            \tvendor_part_id:\t\t\t4129
            \thw_ver:\t\t\t\t0x0
            \tboard_id:\t\t\tMT_0000000838
            \tphys_port_cnt:\t\t\t1
            \t\tport:\t1
            \t\t\tstate:\t\t\tPORT_ACTIVE (4)
            \t\t\tmax_mtu:\t\t4096 (5)
            \t\t\tactive_mtu:\t\t4096 (5)
            \t\t\tsm_lid:\t\t\t1
            \t\t\tport_lid:\t\t23
            \t\t\tport_lmc:\t\t0x00
            \t\t\tlink_layer:\t\tInfiniBand

            """;

    static final String IBV_DEVINFO_VERBOSE = """
            hca_id:\tbnxt_re0
            \ttransport:\t\t\tInfiniBand (0)
            \tnode_guid:\t\t\tbe97:e1ff:fe00:0001
            \tsys_image_guid:\t\t\tbe97:e1ff:fe00:0001
            \tvendor_id:\t\t\t0x14e4
            \tvendor_part_id:\t\t\t5984
            \tphys_port_cnt:\t\t\t1
            \tmax_mr_size:\t\t\t0x8000000000
            \tatomic_cap:\t\t\tATOMIC_NONE (0)
            \t\tport:\t1
            \t\t\tstate:\t\t\tPORT_DOWN (1)
            \t\t\tactive_mtu:\t\t1024 (3)
            \t\t\tport_lid:\t\t0
            \t\t\tlink_layer:\t\tEthernet
            \t\t\tactive_width:\t\t4X (2)
            \t\t\tactive_speed:\t\t100.0 Gbps (128)
            \t\t\tGID[  0]:\t\tfe80::be97:e1ff:fe00:1, RoCE v1
            \t\t\tGID[  1]:\t\tfe80::be97:e1ff:fe00:1, RoCE v2
            \t\t\tGID[  3]:\t\t::ffff:10.0.0.9, RoCE v2

            hca_id:\trdmap79s0
            \ttransport:\t\t\tunspecified (4)
            \tvendor_id:\t\t\t0x1d0f
            \tvendor_part_id:\t\t\t61346
            \tatomic_cap:\t\t\tATOMIC_HCA (1)
            \tphys_port_cnt:\t\t\t1
            \t\tport:\t1
            \t\t\tstate:\t\t\tPORT_ACTIVE (4)
            \t\t\tactive_mtu:\t\t4096 (5)
            \t\t\tlink_layer:\t\tUnspecified
            \t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0812:34ff:fe56:789a
            """;

    private Texts() {}
}
