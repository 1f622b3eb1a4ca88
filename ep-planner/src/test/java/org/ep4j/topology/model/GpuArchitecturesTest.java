package org.ep4j.topology.model;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.topology.GpuVendor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
class GpuArchitecturesTest {
    @ParameterizedTest
    @CsvSource({
        "10de, 15f8, sm_60", "10de, 1db5, sm_70", "10de, 20b0, sm_80", "10de, 2237, sm_86", "10de, 27b8, sm_89",
        "10de, 2330, sm_90", "10de, 2335, sm_90", "10de, 2901, sm_100", "10de, 2941, sm_100", "1002, 66a1, gfx906",
        "1002, 738c, gfx908", "1002, 7408, gfx90a", "1002, 74a0, gfx942", "1002, 74a1, gfx942", "1002, 75a0, gfx950",
        "10de, 0fff, ''", "1002, ffff, ''", "8086, 2330, ''"
    })
    void followsFromThePciIds(String vendor, String device, String architecture) {
        PciId id = new PciId(Integer.parseInt(vendor, 16), Integer.parseInt(device, 16), -1, -1, -1);
        assertThat(GpuArchitectures.of(id)).isEqualTo(architecture);
    }

    @Test
    void isUnknownWithoutIds() {
        assertThat(GpuArchitectures.of(PciId.UNKNOWN)).isEmpty();
        assertThat(GpuArchitectures.vendor(PciId.UNKNOWN.vendor())).isEqualTo(GpuVendor.OTHER);
    }
}
