package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.NativeLibrary;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The emulated GPUs differ in what they allow NICs: see {@code EMULATED_CUDA_*} in the build. */
@Tag("verify")
final class CudaNicMemoryTest {
    private static CudaDevice ordered() {
        return EmulatedCuda.open(0);
    }

    private static CudaDevice flushed() {
        return EmulatedCuda.open(1);
    }

    private static CudaDevice withoutDmaBuf() {
        return EmulatedCuda.open(4);
    }

    @Test
    void theDriverReportsWhatAGpuAllows() {
        EmulatedCuda.require();
        Optional<String> none = Optional.empty();
        assertThat(facts(0)).contains(new GpuDirect(none, none, false));
        assertThat(facts(1)).contains(new GpuDirect(none, none, true));
        assertThat(facts(2)).contains(CudaNicMemory.facts(true, true, 0, 2));
        assertThat(facts(3)).contains(CudaNicMemory.facts(false, true, 100, 1));
        assertThat(facts(4)).contains(CudaNicMemory.facts(true, false, 100, 1));
        assertThat(CudaNicMemory.facts(Device.HOST)).isEmpty();
        assertThat(CudaNicMemory.facts(Device.hip(0))).isEmpty();
        assertThat(facts(1000)).isEmpty();
    }

    private static Optional<GpuDirect> facts(int ordinal) {
        return CudaNicMemory.facts(Device.cuda(ordinal));
    }

    @Test
    void memoryIsExportedAsAFileThatIsClosed() throws IOException {
        try (CudaDevice device = ordered();
                DeviceAllocation allocation = device.allocate(NicMemory.GRANULE)) {
            NicMemory memory = device.nicMemory().orElseThrow();
            Path file;
            try (NicMemory.File exported = memory.export(allocation.memory().slice(0, 8192))) {
                assertThat(exported.dmaBuf().offset()).isZero();
                file = Path.of("/proc/self/fd", String.valueOf(exported.dmaBuf().descriptor()));
                assertThat(Files.readSymbolicLink(file).toString()).contains("emulated device memory");
            }
            assertThat(Files.exists(file)
                            && Files.readSymbolicLink(file).toString().contains("emulated device memory"))
                    .isFalse();
        }
    }

    @Test
    void aDriverWithoutDmaBufFailsWithThatReason() {
        try (CudaDevice device = withoutDmaBuf();
                DeviceAllocation allocation = device.allocate(NicMemory.GRANULE)) {
            NicMemory memory = device.nicMemory().orElseThrow();
            assertThatThrownBy(() -> memory.export(allocation.memory()))
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("cuMemGetHandleForAddressRange of ")
                    .hasMessageContaining("(801");
        }
    }

    /** Otherwise no test on emulated GPUs would find a flush that is missing. */
    @Test
    void nicWritesAreVisibleAfterAFlush() {
        try (CudaDevice device = flushed();
                DeviceAllocation allocation = device.allocate(4096)) {
            write(allocation, (byte) 7);
            assertThat(first(device, allocation)).isZero();
            device.nicMemory().orElseThrow().flush();
            assertThat(first(device, allocation)).isEqualTo((byte) 7);
        }
    }

    @Test
    void orderedNicWritesAreVisibleWithoutAFlush() {
        try (CudaDevice device = ordered();
                DeviceAllocation allocation = device.allocate(4096)) {
            write(allocation, (byte) 7);
            assertThat(first(device, allocation)).isEqualTo((byte) 7);
        }
    }

    @Test
    void aFlushFailsWhereTheHostMayNot() {
        try (CudaDevice device = EmulatedCuda.open(2)) {
            NicMemory memory = device.nicMemory().orElseThrow();
            assertThatThrownBy(memory::flush)
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("cuFlushGPUDirectRDMAWrites")
                    .hasMessageContaining("(801");
        }
    }

    private static void write(DeviceAllocation to, byte value) {
        byte[] source = {value};
        NativeLibrary.getInstance(CudaDriver.library(System.getenv()))
                .getFunction("emulatedNicWrite")
                .invokeInt(new Object[] {to.memory().address(), source, 1L});
    }

    private static byte first(CudaDevice device, DeviceAllocation from) {
        ByteBuffer first = ByteBuffer.allocate(1);
        device.download(from.memory(), first);
        return first.get(0);
    }
}
