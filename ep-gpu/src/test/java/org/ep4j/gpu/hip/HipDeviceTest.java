package org.ep4j.gpu.hip;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.EpStateException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.GpuEvent;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.GpuProcess;
import org.ep4j.gpu.driver.GpuSharing;
import org.ep4j.gpu.driver.GpuSharing.SharedMemory;
import org.ep4j.gpu.driver.MemoryHandle;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class HipDeviceTest {
    private static final Device FIRST = Device.hip(0);

    @BeforeEach
    void emulator() {
        EmulatedHip.require();
    }

    private static byte first(HipDevice device, DeviceAllocation memory) {
        ByteBuffer one = ByteBuffer.allocate(1);
        device.download(memory.memory().slice(0, 1), one);
        return one.get(0);
    }

    @Test
    void factsDescribeAGpuWithWavefronts() {
        try (HipDevice device = EmulatedHip.open(0)) {
            assertThat(device.info().architecture()).isEqualTo("gfx942");
            assertThat(device.info().warpSize()).isEqualTo(64);
            assertThat(device.info().sharedBytes()).isEqualTo(65_536);
            assertThat(device.info().multiprocessors()).isEqualTo(16);
            assertThat(device.hasBulkCopies()).isFalse();
        }
    }

    @Test
    void descriptionsOfTheMachineListTheGpusThatProbesShow() {
        assertThat(HipGpus.look().all()).isNotEmpty().isEqualTo(HipGpus.list());
        assertThat(HipGpus.look().driver()).startsWith("HIP ");
    }

    @Test
    void newMemoryIsZeroAndUploadedBytesAreDownloaded() {
        try (HipDevice device = EmulatedHip.open(1);
                DeviceAllocation memory = device.allocate(5000);
                DeviceAllocation mine = device.allocatePrivate(5000)) {
            byte[] data = HexFormat.of().parseHex("0102030405060708");
            device.upload(ByteBuffer.wrap(data), memory.memory().slice(4000, 8));
            ByteBuffer whole = ByteBuffer.allocate(5000);
            device.download(memory.memory(), whole);
            assertThat(whole.slice(4000, 8)).isEqualTo(ByteBuffer.wrap(data));
            assertThat(whole.slice(0, 4000)).isEqualTo(ByteBuffer.allocate(4000));
            device.copy(mine.memory().address(), memory.memory().address() + 4000, 8, 0);
            assertThat(first(device, mine)).isEqualTo((byte) 1);
        }
    }

    @Test
    void pinnedMemoryIsReachedByCopies() {
        try (HipDevice device = EmulatedHip.open(0);
                PinnedMemory pinned = device.allocatePinned(64);
                DeviceAllocation memory = device.allocate(64)) {
            assertThat(pinned.memory().getLong(0)).isZero();
            pinned.memory().putLong(0, 77);
            device.copy(memory.memory().address(), pinned.deviceAddress(), 64, 0);
            assertThat(first(device, memory)).isEqualTo((byte) 77);
        }
    }

    @Test
    void graphsAndEventsWorkAsOnCuda() {
        try (HipDevice device = EmulatedHip.open(0);
                GpuStream stream = device.createStream();
                GpuEvent start = device.createEvent();
                GpuEvent end = device.createEvent();
                PinnedMemory pinned = device.allocatePinned(8);
                DeviceAllocation memory = device.allocate(8)) {
            pinned.memory().putLong(0, 5);
            try (GpuGraph graph = stream.capture(() -> {
                assertThat(device.isCapturing(stream.handle())).isTrue();
                device.copy(memory.memory().address(), pinned.deviceAddress(), 8, stream.handle());
            })) {
                assertThat(device.isCapturing(stream.handle())).isFalse();
                assertThat(first(device, memory)).as("only recorded").isZero();
                start.record(stream);
                graph.launch(stream);
                end.record(stream);
                end.await(Guard.minute());
                assertThat(first(device, memory)).isEqualTo((byte) 5);
                assertThat(end.nanosSince(start)).isNotNegative();
            }
        }
    }

    @Test
    void failuresNameTheNativeNumber() {
        try (HipDevice device = EmulatedHip.open(0)) {
            assertThatThrownBy(() -> device.allocate(1L << 50))
                    .isInstanceOf(EpResourceException.class)
                    .hasMessageContaining(Long.toString(1L << 50))
                    .hasMessageContaining("hipErrorOutOfMemory (2")
                    .hasMessageContaining("bytes free");
            DeviceAllocation memory = device.allocate(16);
            memory.close();
            assertThatThrownBy(memory::memory).isInstanceOf(EpStateException.class);
        }
        assertThatThrownBy(() -> EmulatedHip.open(99))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("hip:99")
                .hasMessageContaining("HIP_VISIBLE_DEVICES");
    }

    /** HIP has no stack of current GPUs: what the thread used before is current again. */
    @Test
    void theCallersContextIsRestored() {
        HipRuntime runtime = HipRuntime.load();
        try (HipDevice one = EmulatedHip.open(1);
                HipDevice other = EmulatedHip.open(2)) {
            int[] current = new int[1];
            assertThat(runtime.hipSetDevice(3)).isZero();
            one.inside(() -> {
                other.inside(() -> {
                    runtime.hipGetDevice(current);
                    assertThat(current[0]).isEqualTo(2);
                    return 0;
                });
                runtime.hipGetDevice(current);
                assertThat(current[0]).isEqualTo(1);
                return 0;
            });
            runtime.hipGetDevice(current);
            assertThat(current[0]).isEqualTo(3);
            assertThatThrownBy(() -> one.inside(() -> {
                        throw new IllegalStateException("thrown inside");
                    }))
                    .hasMessage("thrown inside");
            runtime.hipGetDevice(current);
            assertThat(current[0]).isEqualTo(3);
            assertThat(runtime.hipSetDevice(0)).isZero();
        }
    }

    @Test
    void anotherProcessMapsMemoryByItsHandle() throws IOException, InterruptedException {
        try (HipDevice device = EmulatedHip.open(0);
                SharedMemory memory = GpuSharing.of(device, "hip").allocate(100_000, MemoryHandle.Kind.IPC)) {
            device.upload(ByteBuffer.wrap(new byte[] {41}), memory.memory());
            String handle = HexFormat.of().formatHex(memory.handle().encode());
            assertThat(GpuProcess.run(FIRST, Map.of(), "add", handle)).contains("was 41");
            ByteBuffer first = ByteBuffer.allocate(1);
            device.download(memory.memory().slice(0, 1), first);
            assertThat(first.get(0)).isEqualTo((byte) 42);
        }
    }

    @Test
    void memoryIsNotSharedBeyondTheHost() {
        try (HipDevice device = EmulatedHip.open(0)) {
            assertThatThrownBy(() -> GpuSharing.of(device, "hip").allocate(64, MemoryHandle.Kind.FABRIC))
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("a NIC backend");
            assertThatThrownBy(() -> GpuSharing.of(device, "cuda"))
                    .hasMessageContaining("hip:0")
                    .hasMessageContaining("set ep.device to cuda");
        }
    }

    @Test
    void theProbeReportsTheInstallation() throws IOException, InterruptedException {
        assertThat(GpuProcess.run(FIRST, Map.of("EMULATED_CUDA_DEVICES", "3"), "probe"))
                .contains("HIP 7.0")
                .contains("gfx942:sramecc+:xnack-")
                .contains("HIPRTC 7.0 in ")
                .contains("EP-HIP-005")
                .contains("count 3")
                .doesNotContain("FAIL");
        assertThat(GpuProcess.run(FIRST, Map.of(HipInstallation.VARIABLE, "/nowhere"), "probe"))
                .contains("EP-HIP-002")
                .contains("/nowhere")
                .contains("count 0")
                .doesNotContain("Exception in thread");
    }

    @Test
    void theProbeTriesAnArchitectureThatHiprtcIsNotKnownToKnow(@TempDir Path kept)
            throws IOException, InterruptedException {
        String name = "gfx1250";
        String cache = kept.toString();
        assertThat(GpuProcess.run(FIRST, Map.of("HIP_ON_CUDA_ARCHITECTURE", name, "EP_CACHE_DIR", cache), "probe"))
                .contains("EP-HIP-003 WARN")
                .contains("EP-HIP-004 FAIL: HIPRTC 7.0 in ")
                .contains(
                        "asked in a separate process to compile for gfx1250, ended that process by signal 6 (SIGABRT)")
                .contains("supports gfx1250")
                .contains("count ");
        assertThat(GpuProcess.run(
                        FIRST,
                        Map.of("HIP_ON_CUDA_ARCHITECTURE", name, "EP_CACHE_DIR", cache, "HIP_ON_CUDA_KNOWS", name),
                        "probe"))
                .contains("EP-HIP-003 WARN")
                .contains("EP-HIP-004 PASS: HIPRTC 7.0 in ")
                .contains("compiles in a separate process");
    }

    @Test
    void wrongKernelsAreRefusedWithTheCompilersWords() {
        try (HipDevice device = EmulatedHip.open(0)) {
            assertThatThrownBy(() -> device.load("broken", "this is no kernel;\n"))
                    .isInstanceOf(EpException.class)
                    .hasMessageContaining("HIPRTC 7.0 cannot compile broken")
                    .hasMessageContaining("--offload-arch=gfx942")
                    .hasMessageContaining("error");
        }
    }

    @Test
    void devicesAreNamedByNumber() {
        try (HipDevice device = EmulatedHip.open(2)) {
            assertThat(device.id()).isEqualTo(Device.hip(2));
        }
    }
}
