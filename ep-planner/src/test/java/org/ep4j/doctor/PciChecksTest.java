package org.ep4j.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.ep4j.spi.Check;
import org.ep4j.spi.Check.Status;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.PciAddress;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class PciChecksTest {
    private static final String DEVICES = "/sys/devices/pci0000:00/";

    @TempDir
    private Path root;

    /** Puts a device below one bridge, with these configuration spaces. */
    private static void device(FakeSystem system, PciAddress address, byte[] bridge, byte[] own) {
        String port = "0000:00:0" + Math.floorMod(address.bus(), 8) + ".0";
        system.file(DEVICES + port + "/config", bridge)
                .file(DEVICES + port + "/" + address + "/config", own)
                .link("/sys/bus/pci/devices/" + address, "../../../devices/pci0000:00/" + port + "/" + address);
        if (!system.input().files().exists("/sys/bus/pci/devices/" + port)) {
            system.link("/sys/bus/pci/devices/" + port, "../../../devices/pci0000:00/" + port);
        }
    }

    static void translate(FakeSystem system, PciAddress address, String type) {
        device(system, address, new byte[64], new byte[64]);
        String port = "0000:00:0" + Math.floorMod(address.bus(), 8) + ".0";
        system.file("/sys/kernel/iommu_groups/7/type", type)
                .file("/sys/class/iommu/dmar0/name", "")
                .link(DEVICES + port + "/" + address + "/iommu_group", "../../../../kernel/iommu_groups/7");
    }

    /** A configuration space with PCI Express at 0x60 and, beyond it, ACS at 0x148 behind another capability. */
    private static byte[] config(int capabilities2, int control2, int acsControl) {
        byte[] bytes = new byte[4096];
        bytes[0x34] = 0x40;
        bytes[0x40] = 0x01;
        bytes[0x41] = 0x60;
        bytes[0x60] = 0x10;
        put(bytes, 0x60 + 0x24, capabilities2);
        put(bytes, 0x60 + 0x28, control2);
        put(bytes, 0x100, 0x14810001);
        put(bytes, 0x148, 0x0001000d);
        bytes[0x148 + 6] = (byte) acsControl;
        return bytes;
    }

    private static void put(byte[] bytes, int at, int word) {
        for (int i = 0; i < 4; i++) {
            bytes[at + i] = (byte) (word >>> (8 * i));
        }
    }

    private FakeSystem oneGpu() {
        return FakeSystem.plain(root).gpu(0, GpuVendor.NVIDIA, "sm_90", "");
    }

    @ParameterizedTest
    @CsvSource({"0x00, PASS", "0x01, PASS", "0x1d, WARN", "0x08, WARN"})
    void redirectionAtABridgeIsAWarning(String control, Status status) {
        FakeSystem system = oneGpu();
        device(system, FakeSystem.gpuAddress(0), config(0, 0, Integer.decode(control)), new byte[64]);
        Check check = system.check(DoctorCode.ACS);
        assertThat(check.status()).isEqualTo(status);
        assertThat(check.detail()).contains(status == Status.WARN ? "0000:00:00.0" : "1 bridges");
    }

    @Test
    void withoutRootAcsIsNotRunAndSaysSo() {
        FakeSystem system = oneGpu();
        device(system, FakeSystem.gpuAddress(0), new byte[64], new byte[64]);
        Check check = system.check(DoctorCode.ACS);
        assertThat(check.status()).isEqualTo(Status.NOT_RUN);
        assertThat(check.remedy()).contains("root");
    }

    @ParameterizedTest
    @CsvSource({"DMA, WARN", "DMA-FQ, WARN", "identity, PASS"})
    void anIommuThatTranslatesIsAWarning(String type, Status status) {
        FakeSystem system = oneGpu();
        translate(system, FakeSystem.gpuAddress(0), type);
        assertThat(system.check(DoctorCode.IOMMU).status()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({"quiet, WARN", "'intel_iommu=on iommu=pt', PASS", "iommu.passthrough=1, PASS", "noiommu=pt, WARN"})
    void anOldKernelIsJudgedByItsCommandLine(String line, Status status) {
        FakeSystem system = oneGpu().file("/sys/class/iommu/dmar0/name", "").file("/proc/cmdline", line);
        assertThat(system.check(DoctorCode.IOMMU).status()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({"1, PASS", "13, WARN", "5, PASS"})
    void kfdLinksWithoutAtomicsAreAWarning(int flags, Status status) {
        FakeSystem system = FakeSystem.amd(root, "gfx942", NicFamily.IONIC);
        String nodes = "/sys/class/kfd/kfd/topology/nodes/";
        system.file(nodes + "0/properties", "cpu_cores_count 64\nsimd_count 0")
                .file(nodes + "1/properties", "cpu_cores_count 0\nsimd_count 1216")
                .file(nodes + "1/io_links/0/properties", "type 2\nnode_from 1\nnode_to 0\nflags " + flags);
        assertThat(system.check(DoctorCode.PCIE_ATOMICS).status()).isEqualTo(status);
    }

    @Test
    void onlyDirectKfdLinksAreReported() {
        FakeSystem system = FakeSystem.amd(root, "gfx942", NicFamily.IONIC);
        String nodes = "/sys/class/kfd/kfd/topology/nodes/";
        system.file(nodes + "0/properties", "cpu_cores_count 64\nsimd_count 0")
                .file(nodes + "1/properties", "cpu_cores_count 64\nsimd_count 0")
                .file(nodes + "2/properties", "cpu_cores_count 0\nsimd_count 1216")
                .file(nodes + "2/io_links/0/properties", "type 2\nnode_from 2\nnode_to 0\nflags 13")
                .file(nodes + "2/p2p_links/0/properties", "type 2\nnode_from 2\nnode_to 1\nflags 13");
        assertThat(system.check(DoctorCode.PCIE_ATOMICS).detail())
                .contains("KFD node 2 has no atomics of 64 bits to node 0")
                .doesNotContain("to node 1");
    }

    @ParameterizedTest
    @CsvSource({"0x40, PASS", "0x00, WARN"})
    void aBroadcomNicThatMayNotRequestAtomicsIsAWarning(String control, Status status) {
        FakeSystem system = FakeSystem.plain(root).farNic("bnxt_re0", NicFamily.BNXT);
        device(system, FakeSystem.nicAddress("bnxt_re0"), config(0, 0, 0), config(0, Integer.decode(control), 0));
        assertThat(system.check(DoctorCode.PCIE_ATOMICS).status()).isEqualTo(status);
    }

    @ParameterizedTest
    @CsvSource({"0x100, PASS", "0x80, WARN"})
    void aGpuThatDoesNotCompleteAtomicsOfABroadcomNicIsAWarning(String capabilities, Status status) {
        FakeSystem system = oneGpu().nic(0, "bnxt_re0", NicFamily.BNXT);
        device(system, FakeSystem.nicAddress("bnxt_re0"), config(0, 0, 0), config(0, 0x40, 0));
        device(system, FakeSystem.gpuAddress(0), config(0, 0, 0), config(Integer.decode(capabilities), 0, 0));
        assertThat(system.check(DoctorCode.PCIE_ATOMICS).status()).isEqualTo(status);
    }

    @Test
    void withoutRootAtomicsOfABroadcomNicAreNotRun() {
        FakeSystem system = FakeSystem.plain(root).farNic("bnxt_re0", NicFamily.BNXT);
        assertThat(system.check(DoctorCode.PCIE_ATOMICS).status()).isEqualTo(Status.NOT_RUN);
        assertThat(system.check(DoctorCode.PCIE_ATOMICS).remedy()).contains("root");
    }

    @Test
    void aConfigurationSpaceWhoseCapabilitiesRunInACircleEnds() {
        byte[] circle = config(0, 0, 0);
        circle[0x61] = 0x40;
        circle[0x60] = 0x05;
        put(circle, 0x148, 0x10010001);
        FakeSystem system = FakeSystem.plain(root).farNic("bnxt_re0", NicFamily.BNXT);
        device(system, FakeSystem.nicAddress("bnxt_re0"), circle, circle);
        assertThat(system.check(DoctorCode.PCIE_ATOMICS).status()).isEqualTo(Status.NOT_RUN);
        assertThat(system.check(DoctorCode.ACS).status()).isEqualTo(Status.PASS);
    }

    /** A GPU and a NIC, each below a downstream port, with redirection at the root port alone. */
    private FakeSystem redirectingRootPort(boolean nicBelowTheSwitch) {
        FakeSystem system = oneGpu().nic(0, "mlx5_0", NicFamily.MLX5);
        String root = "0000:00:01.0";
        String upstream = root + "/0000:01:00.0";
        String forGpu = upstream + "/0000:02:00.0";
        String forNic = nicBelowTheSwitch ? upstream + "/0000:02:01.0" : "0000:00:02.0";
        for (String bridge : new String[] {root, upstream, forGpu, forNic}) {
            system.file(DEVICES + bridge + "/config", config(0, 0, bridge.equals(root) ? 0x1d : 0))
                    .link(
                            "/sys/bus/pci/devices/" + bridge.substring(bridge.lastIndexOf('/') + 1),
                            "../../../devices/pci0000:00/" + bridge);
        }
        place(system, forGpu, FakeSystem.gpuAddress(0));
        place(system, forNic, FakeSystem.nicAddress("mlx5_0"));
        return system;
    }

    private static void place(FakeSystem system, String port, PciAddress address) {
        system.file(DEVICES + port + "/" + address + "/config", new byte[64])
                .link("/sys/bus/pci/devices/" + address, "../../../devices/pci0000:00/" + port + "/" + address);
    }

    @Test
    void aRootPortAboveASwitchWithBothGpuAndNicMayRedirect() {
        Check check = redirectingRootPort(true).check(DoctorCode.ACS);
        assertThat(check.status()).isEqualTo(Status.PASS);
        assertThat(check.detail()).contains("3 bridges");
    }

    @Test
    void aRootPortBetweenGpuAndNicMayNotRedirect() {
        Check check = redirectingRootPort(false).check(DoctorCode.ACS);
        assertThat(check.status()).isEqualTo(Status.WARN);
        assertThat(check.detail()).contains("0000:00:01.0");
    }
}
