package org.ep4j.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import org.ep4j.Device;
import org.ep4j.EpDevice;
import org.ep4j.EpUnavailableException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class GpuDeviceTest {
    private static <T extends EpDevice> T device(Class<T> type, Device id) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    assertThat(method.getName()).isEqualTo("id");
                    return id;
                }));
    }

    @Test
    void aGpuIsGivenAsOne() {
        EpDevice gpu = device(GpuDevice.class, new Device("cuda", 3));
        assertThat(GpuDevice.isGpu(gpu)).isTrue();
        assertThat(GpuDevice.of(gpu) == gpu).isTrue();
    }

    @Test
    void theHostIsNone() {
        EpDevice host = device(EpDevice.class, Device.HOST);
        assertThat(GpuDevice.isGpu(host)).isFalse();
        assertThatThrownBy(() -> GpuDevice.of(host))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll("host:0", "ep.device");
    }

    @Test
    void descriptionsWithTheSameNumbersAreEqual() {
        GpuInfo info = GpuInfo.of("sm_90", 132, 232_448, 32);
        assertThat(info)
                .isEqualTo(GpuInfo.of("sm_90", 132, 232_448, 32))
                .hasSameHashCodeAs(GpuInfo.of("sm_90", 132, 232_448, 32));
        assertThat(info)
                .isNotEqualTo(GpuInfo.of("sm_80", 132, 232_448, 32))
                .isNotEqualTo(GpuInfo.of("sm_90", 131, 232_448, 32))
                .isNotEqualTo(GpuInfo.of("sm_90", 132, 232_447, 32))
                .isNotEqualTo(GpuInfo.of("sm_90", 132, 232_448, 64));
        assertThat(info.toString()).contains("sm_90", "132", "232448", "32");
    }
}
