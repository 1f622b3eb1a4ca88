package org.ep4j.topology.model;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.NicReach;

/**
 * Finds the family of a NIC: by kernel driver, then by PCI ids. Names do not count, since udev rules and administrators
 * change them.
 *
 * <p>The family says what a device is made for. Whether verbs are there is for the caller to see: a ConnectX whose
 * {@code mlx5_ib} is not loaded is of the family {@link NicFamily#MLX5} all the same.
 */
public final class NicFamilies {
    private static final int MELLANOX = 0x15b3;

    /** Kernel drivers: of the PCI function, or of the verbs device on it. */
    private static final Pattern KERNEL_NAME = Pattern.compile("(mlx5_|bnxt_re|ionic_|irdma|efa_|rdmap)\\w*");

    private static final Map<String, NicFamily> DRIVERS = Map.ofEntries(
            Map.entry("mlx5_core", NicFamily.MLX5),
            Map.entry("mlx5_ib", NicFamily.MLX5),
            Map.entry("efa", NicFamily.EFA),
            Map.entry("bnxt_en", NicFamily.BNXT),
            Map.entry("bnxt_re", NicFamily.BNXT),
            Map.entry("ionic", NicFamily.IONIC),
            Map.entry("ionic_rdma", NicFamily.IONIC),
            Map.entry("ice", NicFamily.IRDMA),
            Map.entry("irdma", NicFamily.IRDMA),
            Map.entry("cxi_core", NicFamily.CXI),
            Map.entry("cxi_ss1", NicFamily.CXI),
            Map.entry("rdma_rxe", NicFamily.RXE),
            Map.entry("rxe", NicFamily.RXE),
            Map.entry("siw", NicFamily.SIW),
            Map.entry("cxgb4", NicFamily.OTHER_RDMA),
            Map.entry("erdma", NicFamily.OTHER_RDMA),
            Map.entry("hfi1", NicFamily.OTHER_RDMA),
            Map.entry("hns3", NicFamily.OTHER_RDMA),
            Map.entry("mana", NicFamily.OTHER_RDMA),
            Map.entry("mlx4_core", NicFamily.OTHER_RDMA),
            Map.entry("qede", NicFamily.OTHER_RDMA),
            Map.entry("vmw_pvrdma", NicFamily.OTHER_RDMA));

    /** NetXtreme-E devices with RoCE: rdma-core {@code providers/bnxt_re/main.c}; 0x176x of Linux {@code bnxt.c}. */
    private static final Set<Integer> BROADCOM = Set.of(
            0x1605, 0x1606, 0x1614, 0x16c0, 0x16c1, 0x16ce, 0x16cf, 0x16d6, 0x16d7, 0x16d8, 0x16d9, 0x16df, 0x16e2,
            0x16e3, 0x16e5, 0x16eb, 0x16ed, 0x16ef, 0x16f0, 0x16f1, 0x1750, 0x1751, 0x1752, 0x1760, 0x1761, 0x1762,
            0x1763, 0x1803, 0x1804, 0x1805, 0x1807, 0x1809, 0x1819, 0xd800, 0xd802, 0xd804);

    /** E810, E822, E823 and X722: rdma-core {@code providers/irdma/umain.c}. */
    private static final Set<Integer> INTEL = Set.of(
            0x124c, 0x124d, 0x124e, 0x124f, 0x151d, 0x1591, 0x1592, 0x1593, 0x1599, 0x159a, 0x159b, 0x188a, 0x188b,
            0x188c, 0x188d, 0x188e, 0x1890, 0x1891, 0x1892, 0x1893, 0x1894, 0x1897, 0x1898, 0x1899, 0x189a, 0x374c,
            0x374d, 0x37cd, 0x37ce, 0x37cf, 0x37d0, 0x37d1, 0x37d2, 0x37d3, 0x37d9);

    /** Beginnings of names that container runtimes, bridges, tunnels and overlay networks give their interfaces. */
    private static final List<String> VIRTUAL = List.of(
            "docker", "br-", "veth", "virbr", "cni", "flannel", "cali", "tun", "tap", "podman", "lxc", "vxlan", "kube-",
            "weave", "cilium", "dummy");

    private NicFamilies() {}

    /**
     * Returns true for the name of a network interface that leads to no network of its own: loopback, and
     * interfaces that software for containers and virtual machines creates.
     */
    public static boolean virtual(String netdev) {
        return netdev.equals("lo") || VIRTUAL.stream().anyMatch(netdev::startsWith);
    }

    /**
     * The family of a NIC.
     *
     * @param driver kernel driver; empty when unknown
     * @param id PCI ids, {@link PciId#UNKNOWN} where there are none
     */
    public static NicFamily of(String driver, PciId id) {
        NicFamily byDriver = DRIVERS.get(driver);
        return byDriver != null ? byDriver : of(id);
    }

    /**
     * Returns false for ConnectX devices that manage the NVLink switches of a machine (HGX B200: subsystem 15b3:0087).
     * They are InfiniBand devices with active ports, but no traffic of applications may use them.
     */
    public static boolean compute(PciId id) {
        return !(id.vendor() == MELLANOX && id.subVendor() == MELLANOX && id.subDevice() == 0x0087);
    }

    /**
     * The family of a NIC by the name that its kernel driver gives it, for descriptions with neither driver nor PCI
     * ids.
     */
    public static NicFamily named(String name) {
        Matcher driver = KERNEL_NAME.matcher(name);
        return switch (driver.matches() ? driver.group(1) : "") {
            case "mlx5_" -> NicFamily.MLX5;
            case "bnxt_re" -> NicFamily.BNXT;
            case "ionic_" -> NicFamily.IONIC;
            case "irdma" -> NicFamily.IRDMA;
            case "efa_", "rdmap" -> NicFamily.EFA;
            default -> NicFamily.OTHER_RDMA;
        };
    }

    private static NicFamily of(PciId id) {
        int device = id.device();
        return switch (id.vendor()) {
            // Connect-IB (0x1011) was the first with mlx5; all before it had mlx4 or older.
            case MELLANOX ->
                device >= 0x1011 && (device < 0x6000 || device >= 0xa2d2) ? NicFamily.MLX5 : NicFamily.OTHER_RDMA;
            case 0x1d0f -> device >= 0xefa0 && device <= 0xefaf ? NicFamily.EFA : NicFamily.ETHERNET;
            case 0x14e4 -> BROADCOM.contains(device) ? NicFamily.BNXT : NicFamily.ETHERNET;
            case 0x1dd8 -> device == 0x1002 || device == 0x1003 ? NicFamily.IONIC : NicFamily.ETHERNET;
            case 0x8086 -> INTEL.contains(device) ? NicFamily.IRDMA : other(id);
            case 0x17db -> NicFamily.CXI;
            // Cassini-2 has HPE's own vendor id (shs-cxi-driver).
            case 0x1590 -> device == 0x0371 ? NicFamily.CXI : NicFamily.ETHERNET;
            default -> other(id);
        };
    }

    /** Link layer by the class code, which firmware sets by what the port is configured for. */
    public static NicReach.LinkLayer linkLayer(PciId id) {
        return switch (id.classCode() >> 8) {
            case 0x0207 -> NicReach.LinkLayer.INFINIBAND;
            case 0x0200 -> NicReach.LinkLayer.ETHERNET;
            default -> NicReach.LinkLayer.UNSPECIFIED;
        };
    }

    /** InfiniBand (class 0207) and Omni-Path (0208) have no other use. */
    private static NicFamily other(PciId id) {
        int kind = id.classCode() >> 8;
        return kind == 0x0207 || kind == 0x0208 ? NicFamily.OTHER_RDMA : NicFamily.ETHERNET;
    }
}
