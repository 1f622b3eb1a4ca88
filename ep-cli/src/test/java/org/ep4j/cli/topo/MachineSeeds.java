package org.ep4j.cli.topo;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Small descriptions of made-up machines, one of each kind that is read. */
final class MachineSeeds {
    /** Content of a link: this, and where it leads. */
    static final String LINK = "-> ";

    private static final String NCCL = """
            <system version="1">
              <cpu host_hash="0x1" numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:0c:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
                  <pci busid="0000:0d:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
                    <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/></gpu>
                  </pci>
                  <pci busid="0000:0e:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
                    <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" gdr="1"/></nic>
                  </pci>
                </pci>
              </cpu>
              <cpu host_hash="0x1" numaid="1" affinity="ff00" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
                <pci busid="0000:8d:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
                  <gpu dev="1" sm="90" rank="1" gdr="1"><nvlink target="0000:0d:00.0" count="4" tclass="0x030200"/>
                  <c2c bw="400000" count="1"/></gpu>
                </pci>
                <nic><net name="eth0" dev="1" speed="10000" port="0" guid="0x0" gdr="0"/></nic>
              </cpu>
            </system>
            """;

    private static final String RCCL = """
            <system version="2">
              <cpu numaid="0" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="17">
                <pci busid="0000:05:00.0" class="0x120000" vendor="0x1002" device="0x74a1" link_speed="32 GT/s" link_width="16">
                  <gpu dev="0" sm="94" gcn="gfx942" rank="0" gdr="1"><xgmi target="0000:15:00.0" count="1" tclass="0x120000"/></gpu>
                </pci>
                <pci busid="0000:15:00.0" class="0x120000" vendor="0x1002" device="0x74a1" link_speed="32 GT/s" link_width="16">
                  <gpu dev="1" sm="94" gcn="gfx942" rank="1" gdr="1"><xgmi target="0000:05:00.0" count="1" tclass="0x120000"/></gpu>
                </pci>
              </cpu>
            </system>
            """;

    private static final String HWLOC = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE topology SYSTEM "hwloc2.dtd">
            <topology version="2.0">
              <object type="Machine" os_index="0" cpuset="0x000000ff" nodeset="0x1" gp_index="1">
                <info name="HostName" value="node1"/><info name="Architecture" value="x86_64"/>
                <info name="CPUFamilyNumber" value="25"/><info name="CPUModelNumber" value="1"/>
                <object type="Package" os_index="0" cpuset="0x000000ff" nodeset="0x1" gp_index="2">
                  <object type="NUMANode" os_index="0" cpuset="0x000000ff" nodeset="0x1" gp_index="3"/>
                  <object type="Bridge" gp_index="4" bridge_type="0-1" depth="0" bridge_pci="0000:[00-3f]">
                    <object type="Bridge" gp_index="5" bridge_type="1-1" bridge_pci="0000:[01-03]" pci_busid="0000:00:01.0"
                            pci_type="0604 [1022:1483] [1022:1453] 00" pci_link_speed="31.5">
                      <object type="PCIDev" gp_index="6" pci_busid="0000:01:00.0" pci_type="0302 [10de:20b0] [10de:134f] a1"
                              pci_link_speed="31.5">
                        <object type="OSDev" gp_index="7" name="nvml0" subtype="NVML" osdev_type="1"/>
                      </object>
                      <object type="PCIDev" gp_index="8" pci_busid="0000:02:00.0" pci_type="0207 [15b3:101b] [15b3:0006] 00"
                              pci_link_speed="31.5">
                        <object type="OSDev" gp_index="9" name="mlx5_0" osdev_type="3">
                          <info name="Port1State" value="4"/><info name="Port1LID" value="0x1"/>
                          <info name="Port1GID0" value="fe80:0000:0000:0000:0002:c903:0000:0001"/>
                        </object>
                      </object>
                      <object type="PCIDev" gp_index="10" pci_busid="0000:03:00.0" pci_type="0300 [0000:0000] [0000:0000] a1"
                              pci_link_speed="31.5"/>
                    </object>
                  </object>
                </object>
              </object>
              <distances2hetero nbobjs="2" kind="22" name="NVLinkBandwidth">
                <indexes length="18">OSDev:7 OSDev:9 </indexes>
                <u64values length="30">1000000 150000 150000 1000000 </u64values>
              </distances2hetero>
            </topology>
            """;

    private static final String NVIDIA_SMI = """
            \u001b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u001b[0m
            GPU0\t X \tNV18\tPIX\tSYS\t0-55\t0\t\tN/A
            GPU1\tNV18\t X \tPXB\tSYS\t56-111\t1\t\tN/A
            NIC0\tPIX\tPXB\t X \tSYS\t\t\t\t
            NIC1\tSYS\tSYS\tSYS\t X \t\t\t\t

            NIC Legend:

              NIC0: mlx5_0
              NIC1: mlx5_bond_0
            """;

    private static final String NVIDIA_SMI_TABLE = """
            | CPU Affinity | NUMA Affinity | GPU0 | GPU1 | NIC0 |
            |--------------|---------------|------|------|------|
            | GPU0 | 0-7 | 0 | X    | NODE | PIX  |
            | GPU1 | 8-9 | 1 | NODE | X    | SYS  |
            """;

    private static final String ROCM_SMI = """
            ================================= Hops between two GPUs ==================================
                   GPU0         GPU1
            GPU0   0            1
            GPU1   1            0

            =============================== Link Type between two GPUs ===============================
                   GPU0         GPU1
            GPU0   0            XGMI
            GPU1   XGMI         0

            ======================================= Numa Nodes =======================================
            GPU[0]\t\t: (Topology) Numa Node: 0
            GPU[1]\t\t: (Topology) Numa Node: 1
            ================================== End of ROCm SMI Log ===================================
            """;

    /** Output of {@code ibv_devinfo -v}, with a device of most of the machines. */
    static final String IBV_DEVINFO = """
            hca_id:\tmlx5_0
            \tsys_image_guid:\t\t\ta088:c203:0012:3456
            \tvendor_id:\t\t\t0x02c9
            \tvendor_part_id:\t\t\t4129
            \tphys_port_cnt:\t\t\t1
            \tatomic_cap:\t\t\tATOMIC_NONE (0)
            \t\tport:\t1
            \t\t\tstate:\t\t\tPORT_ACTIVE (4)
            \t\t\tactive_mtu:\t\t4096 (5)
            \t\t\tport_lid:\t\t23
            \t\t\tlink_layer:\t\tEthernet
            \t\t\tactive_width:\t\t4X (2)
            \t\t\tactive_speed:\t\t100.0 Gbps (128)
            \t\t\tGID[  0]:\t\tfe80::be97:e1ff:fe00:1, RoCE v1
            \t\t\tGID[  3]:\t\t::ffff:10.0.0.9, RoCE v2

            hca_id:\trdmap79s0
            \tvendor_id:\t\t\t0x1d0f
            \tvendor_part_id:\t\t\t61346
            \tphys_port_cnt:\t\t\t1
            \t\tport:\t1
            \t\t\tstate:\t\t\tPORT_DOWN (1)
            \t\t\tlink_layer:\t\tUnspecified
            """;

    static final List<String> TEXTS = List.of(NCCL, RCCL, HWLOC, NVIDIA_SMI, NVIDIA_SMI_TABLE, ROCM_SMI, IBV_DEVINFO);

    private MachineSeeds() {}

    /** Files of {@code /sys} and {@code /proc} by path: a GPU and a NIC below one root port. */
    static Map<String, String> sys() {
        Map<String, String> files = new LinkedHashMap<>();
        files.put("sys/devices/system/node/node0/cpulist", "0-7\n");
        files.put("sys/devices/system/node/node1/cpulist", "8-15\n");
        files.put("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n");
        files.put("proc/sys/kernel/hostname", "node1\n");
        files.put(
                "proc/net/route",
                "Iface Destination Gateway Flags RefCnt Use Metric Mask\neth0 0000000A 00000000 0001 0 0 0 00FFFFFF\n");
        String port = "sys/devices/pci0000:00/0000:00:01.0";
        function(files, port + "/0000:01:00.0", "0x10de 0x2330 0x030200");
        function(files, port + "/0000:01:00.1", "0x15b3 0x1021 0x020700");
        function(files, port, "0x8086 0x352a 0x060400");
        String verbs = port + "/0000:01:00.1/infiniband/mlx5_0";
        files.put("sys/class/infiniband/mlx5_0", LINK + "../../../" + verbs);
        files.put(verbs + "/device", LINK + "../../../0000:01:00.1");
        files.put(verbs + "/ports/1/state", "4: ACTIVE\n");
        files.put(verbs + "/ports/1/link_layer", "Ethernet\n");
        files.put(verbs + "/ports/1/rate", "400 Gb/sec (4X NDR)\n");
        files.put(verbs + "/ports/1/gids/0", "fe80:0000:0000:0000:0a59:1cff:fe00:0001\n");
        files.put(verbs + "/ports/1/gid_attrs/types/0", "RoCE v2\n");
        files.put(verbs + "/ports/1/gid_attrs/ndevs/0", "eth0\n");
        files.put(port + "/0000:01:00.1/net/eth0/mtu", "9000\n");
        files.put(port + "/0000:01:00.1/net/eth0/type", "1\n");
        files.put(port + "/0000:01:00.1/net/eth0/device", LINK + "../../../0000:01:00.1");
        files.put("sys/class/net/eth0", LINK + "../../../" + port + "/0000:01:00.1/net/eth0");
        return files;
    }

    private static void function(Map<String, String> files, String path, String ids) {
        String[] id = ids.split(" ", -1);
        files.put(path + "/vendor", id[0] + "\n");
        files.put(path + "/device", id[1] + "\n");
        files.put(path + "/class", id[2] + "\n");
        files.put(path + "/numa_node", "0\n");
        files.put(path + "/max_link_speed", "32.0 GT/s PCIe\n");
        files.put(path + "/max_link_width", "16\n");
        files.put("sys/bus/pci/devices/" + path.substring(path.lastIndexOf('/') + 1), LINK + "../../../../" + path);
    }

    /** The folder {@code topology} of AMD's KFD, with two GPUs. */
    static Map<String, String> kfd() {
        Map<String, String> files = new LinkedHashMap<>();
        files.put("README", "from a machine\n");
        files.put("topology/nodes/0/properties", "cpu_cores_count 64\nsimd_count 0\nio_links_count 1\n");
        for (int node = 1; node <= 2; node++) {
            String folder = "topology/nodes/" + node;
            files.put(
                    folder + "/properties",
                    "cpu_cores_count 0\nsimd_count 304\ngfx_target_version 90402\nlocation_id " + 256 * node
                            + "\ndomain 0\nvendor_id 4098\ndevice_id 29857\n");
            files.put(folder + "/io_links/0/properties", "type 2\nnode_from " + node + "\nnode_to 0\nweight 20\n");
            files.put(
                    folder + "/io_links/1/properties",
                    "type 11\nnode_from " + node + "\nnode_to " + (3 - node)
                            + "\nweight 15\nmin_bandwidth 64000\nmax_bandwidth 64000\n");
        }
        return files;
    }
}
