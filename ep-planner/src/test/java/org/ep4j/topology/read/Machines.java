package org.ep4j.topology.read;

/** Made-up machines with everything in them that readers of {@code /sys} know of. */
final class Machines {
    static final String GPU = "10de 2335 030200";
    static final String CX7 = "15b3 1021 020700";

    private Machines() {}

    /**
     * Two sockets. On socket 0, below one host bridge: a switch with a GPU, a NIC with InfiniBand and a second switch with a
     * GPU; a GPU on a root port. On a second host bridge of socket 0 a NIC with RoCE; on socket 1 a NIC of AWS.
     */
    static SysTree twoSockets() {
        String root = "pci0000:10/0000:10:01.0";
        String upper = root + "/0000:11:00.0";
        return new SysTree()
                .nodes(2)
                .processor("GenuineIntel", 6, 143)
                .port(root, 0)
                .port(upper, 0)
                .port(upper + "/0000:12:00.0", 0)
                .pci(upper + "/0000:12:00.0/0000:13:00.0", GPU, 0)
                .port(upper + "/0000:12:01.0", 0)
                .pci(upper + "/0000:12:01.0/0000:14:00.0", CX7, 0)
                .driver(upper + "/0000:12:01.0/0000:14:00.0", "mlx5_core")
                .verbs("ibp20s0", upper + "/0000:12:01.0/0000:14:00.0", "InfiniBand", "400 Gb/sec (4X NDR)")
                .port(upper + "/0000:12:02.0", 0)
                .port(upper + "/0000:12:02.0/0000:15:00.0", 0)
                .port(upper + "/0000:12:02.0/0000:15:00.0/0000:16:00.0", 0)
                .pci(upper + "/0000:12:02.0/0000:15:00.0/0000:16:00.0/0000:17:00.0", GPU, 0)
                .port("pci0000:10/0000:10:02.0", 0)
                .pci("pci0000:10/0000:10:02.0/0000:18:00.0", GPU, "10de 1626", 0, "16.0 GT/s PCIe", 8)
                .port("pci0000:20/0000:20:01.0", 0)
                .pci("pci0000:20/0000:20:01.0/0000:21:00.0", CX7, 0)
                .driver("pci0000:20/0000:20:01.0/0000:21:00.0", "mlx5_core")
                .verbs("mlx5_1", "pci0000:20/0000:20:01.0/0000:21:00.0", "Ethernet", "200 Gb/sec (4X HDR)")
                .net("eth1", "pci0000:20/0000:20:01.0/0000:21:00.0", 200_000)
                .gid("mlx5_1", 0, "fe80:0000:0000:0000:0a00:00ff:fe00:0001", "IB/RoCE v1", "eth1")
                .gid("mlx5_1", 3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", "eth1")
                .port("pci0000:80/0000:80:01.0", 1)
                .pci("pci0000:80/0000:80:01.0/0000:81:00.0", "1d0f efa2 020000", 1)
                .driver("pci0000:80/0000:80:01.0/0000:81:00.0", "efa")
                .verbs("rdmap129s0", "pci0000:80/0000:80:01.0/0000:81:00.0", "Unknown", "200 Gb/sec (4X HDR)");
    }

    /** Four GPUs of AMD in SPX mode, two of them on each of two sockets, all linked by xGMI but for one pair of two hops. */
    static SysTree instinct() {
        SysTree tree = new SysTree().nodes(2).processor("AuthenticAMD", 25, 17);
        for (int node = 0; node < 2; node++) {
            tree.kfd(node, "cpu_cores_count 96\nsimd_count 0\n");
        }
        int[] buses = {0x45, 0x05, 0x9b, 0x85};
        for (int gpu = 0; gpu < 4; gpu++) {
            int socket = gpu / 2;
            String bus = Integer.toHexString(0x100 + buses[gpu]).substring(1);
            String root =
                    "pci0000:" + (socket == 0 ? "00" : "80") + "/0000:" + (socket == 0 ? "00" : "80") + ":0" + gpu;
            tree.port(root + ".1", socket)
                    .pci(
                            root + ".1/0000:" + bus + ":00.0",
                            "1002 74a1 120000",
                            "1002 74a1",
                            socket,
                            "32.0 GT/s PCIe",
                            16)
                    .kfd(
                            gpu + 2,
                            "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\n"
                                    + "location_id " + (buses[gpu] << 8) + "\ndomain 0\nhive_id 15188982192727901047\n")
                    .kfdLink("io_links", gpu + 2, socket, 2, 20, 312, 64000);
            for (int peer = 0; peer < gpu; peer++) {
                boolean far = gpu == 3 && peer == 0;
                String kind = far ? "p2p_links" : "io_links";
                tree.kfdLink(kind, gpu + 2, peer + 2, 11, far ? 30 : 15, 64000, 64000)
                        .kfdLink(kind, peer + 2, gpu + 2, 11, far ? 30 : 15, 64000, 64000);
            }
        }
        return tree;
    }
}
