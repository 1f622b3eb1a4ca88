package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.driver.GpuProcess;
import org.ep4j.gpu.driver.GpuSharing;
import org.ep4j.gpu.driver.GpuSharing.SharedMemory;
import org.ep4j.gpu.driver.MemoryHandle;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class CudaDriverTest {
    private static final Device FIRST = Device.cuda(0);
    private static final Map<String, String> MISSING = Map.of(CudaDriver.VARIABLE, "/nowhere/libcuda.so.1");

    @Test
    void aDriverThatCannotBeLoadedIsNamedWithTheRemedy() {
        assertThatThrownBy(() -> CudaDriver.load(MISSING))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("EP_CUDA_DRIVER is /nowhere/libcuda.so.1")
                .hasMessageContaining("(Unable to load library '/nowhere/libcuda.so.1');")
                .hasMessageContaining("correct or unset this variable");
    }

    @Test
    void withoutADriverTheProbeFailsAChecksAndThrowsNothing() throws IOException, InterruptedException {
        assertThat(GpuProcess.run(FIRST, MISSING, "probe"))
                .contains("EP-CUDA-002")
                .contains("/nowhere/libcuda.so.1")
                .contains("count 0")
                .doesNotContain("Exception in thread");
    }

    @Test
    void withADriverTheProbePasses() throws IOException, InterruptedException {
        EmulatedCuda.require();
        assertThat(GpuProcess.run(FIRST, Map.of("EMULATED_CUDA_DEVICES", "3"), "probe"))
                .contains("driver for CUDA 13.0")
                .contains("sm_90")
                .contains("count 3");
        assertThat(GpuProcess.run(FIRST, Map.of("EMULATED_CUDA_CAPABILITY", "75"), "probe"))
                .contains("older than sm_80");
    }

    @Test
    void anotherProcessMapsMemoryByItsHandle() throws IOException, InterruptedException {
        try (CudaDevice device = EmulatedCuda.open(0);
                SharedMemory memory = GpuSharing.of(device, "cuda").allocate(100_000, MemoryHandle.Kind.IPC)) {
            device.upload(ByteBuffer.wrap(new byte[] {41}), memory.memory());
            String handle = HexFormat.of().formatHex(memory.handle().encode());
            assertThat(GpuProcess.run(FIRST, Map.of(), "add", handle)).contains("was 41");
            ByteBuffer first = ByteBuffer.allocate(1);
            device.download(memory.memory(), first);
            assertThat(first.get(0)).isEqualTo((byte) 42);
        }
    }
}
