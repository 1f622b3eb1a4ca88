package org.ep4j.gpu.hip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.NicMemory;
import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** On HIP that is forwarded to emulated GPUs, of which number 3 lets no NIC in and number 4 gives out no dma-buf. */
@Tag("verify")
final class HipNicMemoryTest {
    @Test
    void hipReportsWhatAGpuAllows() {
        EmulatedHip.require();
        GpuDirect facts = HipNicMemory.facts(Device.hip(0)).orElseThrow();
        assertThat(facts).isEqualTo(new GpuDirect(Optional.empty(), Optional.empty(), true, facts.doubt()));
        assertThat(facts.doubt()).hasValueSatisfying(doubt -> assertThat(doubt).contains("ep.gpu.window=device"));
        assertThat(HipNicMemory.facts(Device.hip(3)).orElseThrow().refusal())
                .hasValueSatisfying(reason -> assertThat(reason).contains("hipDeviceAttributeIsLargeBar is 0"));
        assertThat(HipNicMemory.facts(Device.hip(1000))).isEmpty();
        assertThat(HipNicMemory.facts(Device.cuda(0))).isEmpty();
        assertThat(HipNicMemory.facts(Device.HOST)).isEmpty();
    }

    @Test
    void missingPartsAreNamed() {
        assertThat(HipNicMemory.facts(true, false, true).refusal().orElseThrow())
                .contains("hipDeviceAttributeHdpMemFlushCntl");
        assertThat(HipNicMemory.facts(true, true, false).withoutDmaBuf().orElseThrow())
                .contains("hipMemGetHandleForAddressRange", "hsa_amd_portable_export_dmabuf", "ROCm");
    }

    @Test
    void memoryIsExportedAsAFileThatIsClosed() throws IOException {
        try (HipDevice device = EmulatedHip.open(0);
                DeviceAllocation allocation = device.allocateShared(NicMemory.GRANULE)) {
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

    /** The older call, that of the HSA runtime. */
    @Test
    void memoryIsExportedByHsaWhereHipCannot() throws IOException {
        try (HipDevice device = EmulatedHip.open(0);
                HipDevice without = EmulatedHip.open(4);
                DeviceAllocation allocation = device.allocateShared(NicMemory.GRANULE);
                DeviceAllocation kept = without.allocateShared(NicMemory.GRANULE)) {
            HipNicMemory.HipDmaBuf hsa = HipNicMemory.HipDmaBuf.hsa(library()).orElseThrow();
            ExposedMemory.DmaBuf exported = hsa.export(device.context(), allocation.memory(), NicMemory.GRANULE);
            try (NicMemory.File file = new NicMemory.File(exported)) {
                assertThat(Files.readSymbolicLink(Path.of("/proc/self/fd", String.valueOf(exported.descriptor())))
                                .toString())
                        .contains("emulated device memory");
                assertThat(file.dmaBuf().offset()).isZero();
            }
            DeviceMemory refused = kept.memory();
            assertThatThrownBy(() -> hsa.export(without.context(), refused, NicMemory.GRANULE))
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("hsa_amd_portable_export_dmabuf of ")
                    .hasMessageContaining("0x1000");
        }
    }

    @Test
    void aGpuWithoutDmaBufFailsWithThatReason() {
        try (HipDevice device = EmulatedHip.open(4);
                DeviceAllocation allocation = device.allocateShared(NicMemory.GRANULE)) {
            NicMemory memory = device.nicMemory().orElseThrow();
            assertThatThrownBy(() -> memory.export(allocation.memory()))
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("hipMemGetHandleForAddressRange of ");
        }
    }

    /** Else the owner's caches could hide what NICs write; the libraries for tests give out no other memory. */
    @Test
    void windowsLieInMemoryThatIsNotCached() {
        try (HipDevice device = EmulatedHip.open(0);
                DeviceAllocation cached = device.allocate(NicMemory.GRANULE)) {
            NicMemory memory = device.nicMemory().orElseThrow();
            assertThatThrownBy(() -> memory.export(cached.memory())).isInstanceOf(EpException.class);
        }
    }

    @Test
    void aFlushIsAStoreToTheRegister() {
        try (HipDevice device = EmulatedHip.open(0)) {
            int[] halves = new int[2];
            HipRuntime runtime = HipRuntime.load();
            assertThat(runtime.deviceGetAttribute(halves, HipNicMemory.HDP_MEM_FLUSH_CONTROL, 0))
                    .isZero();
            Pointer register = new Pointer((long) halves[1] << 32 | Integer.toUnsignedLong(halves[0]));
            register.setInt(0, 0);
            device.nicMemory().orElseThrow().flush();
            assertThat(register.getInt(0)).isEqualTo(1);
        }
    }

    private static NativeLibrary library() {
        return NativeLibrary.getInstance(
                HipInstallation.find(System.getenv(), Path.of("/")).runtime().toString());
    }
}
