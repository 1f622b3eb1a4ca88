package org.ep4j.topology.model;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.topology.NicFamily;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class NicFamiliesTest {
    @ParameterizedTest
    @CsvSource({
        "15b3, 1021, 020700, MLX5",
        "15b3, 101e, 020000, MLX5",
        "15b3, a2dc, 020000, MLX5",
        "15b3, 1003, 028000, OTHER_RDMA",
        "1d0f, efa0, 020000, EFA",
        "1d0f, efa3, 020000, EFA",
        "1d0f, ec20, 020000, ETHERNET",
        "14e4, 1760, 020000, BNXT",
        "14e4, 1750, 020000, BNXT",
        "14e4, 1657, 020000, ETHERNET",
        "1dd8, 1002, 020000, IONIC",
        "8086, 1592, 020000, IRDMA",
        "8086, 1563, 020000, ETHERNET",
        "8086, 24f0, 020800, OTHER_RDMA",
        "17db, 0501, 020000, CXI",
        "1590, 0371, 020000, CXI",
        "abcd, 0001, 020700, OTHER_RDMA",
        "abcd, 0001, 020000, ETHERNET"
    })
    void knowsAFamilyByItsPciIds(String vendor, String device, String classCode, NicFamily family) {
        assertThat(NicFamilies.of("", id(vendor, device, classCode))).isEqualTo(family);
    }

    @ParameterizedTest
    @CsvSource({
        "mlx5_core, MLX5",
        "efa, EFA",
        "bnxt_en, BNXT",
        "ionic, IONIC",
        "ice, IRDMA",
        "cxi_ss1, CXI",
        "rdma_rxe, RXE",
        "siw, SIW",
        "mlx4_core, OTHER_RDMA"
    })
    void trustsTheDriverMoreThanTheIds(String driver, NicFamily family) {
        assertThat(NicFamilies.of(driver, id("8086", "1563", "020000"))).isEqualTo(family);
    }

    @Test
    void takesTheIdsWhenTheDriverIsNotKnown() {
        assertThat(NicFamilies.of("vfio-pci", id("15b3", "1021", "020700"))).isEqualTo(NicFamily.MLX5);
    }

    @Test
    void takesAnUnknownDeviceAsPlainEthernet() {
        assertThat(NicFamilies.of("", PciId.UNKNOWN)).isEqualTo(NicFamily.ETHERNET);
    }

    @Test
    void leavesDevicesOfTheNvlinkSwitchesToTheSwitches() {
        assertThat(NicFamilies.compute(new PciId(0x15b3, 0x1021, 0x15b3, 0x0087, 0x020700)))
                .isFalse();
        assertThat(NicFamilies.compute(new PciId(0x15b3, 0x1021, 0x15b3, 0x0055, 0x020700)))
                .isTrue();
        assertThat(NicFamilies.compute(PciId.UNKNOWN)).isTrue();
    }

    private static PciId id(String vendor, String device, String classCode) {
        return new PciId(
                Integer.parseInt(vendor, 16), Integer.parseInt(device, 16), -1, -1, Integer.parseInt(classCode, 16));
    }
}
