package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Random;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpResourceException;
import org.ep4j.EpStateException;
import org.ep4j.EpUnavailableException;
import org.ep4j.TensorArena;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@Tag("verify")
@ExtendWith(SkipWithoutEmulator.class)
final class CudaDeviceTest {
    @Test
    void newMemoryIsZero() {
        try (CudaDevice device = EmulatedCuda.open(1);
                DeviceAllocation memory = device.allocate(5000)) {
            assertThat(Kernels.read(device, memory.memory())).isEqualTo(ByteBuffer.allocate(5000));
        }
    }

    @Property(tries = 50)
    void uploadedBytesAreDownloadedFromEverySlice(
            @ForAll @IntRange(min = 1, max = 3000) int bytes,
            @ForAll @IntRange(max = 200) int offset,
            @ForAll boolean direct,
            @ForAll @IntRange(max = 9) int position,
            @ForAll long seed) {
        byte[] data = new byte[bytes];
        new Random(seed).nextBytes(data);
        try (CudaDevice device = EmulatedCuda.open(0);
                DeviceAllocation memory = device.allocate(offset + bytes + 64L)) {
            ByteBuffer source =
                    direct ? ByteBuffer.allocateDirect(position + bytes) : ByteBuffer.allocate(position + bytes);
            source.position(position).put(data).position(position);
            DeviceMemory slice = memory.memory().slice(offset, bytes);
            device.upload(source, slice);
            assertThat(source.hasRemaining()).isFalse();
            ByteBuffer target = direct ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
            device.download(slice, target);
            assertThat(target.hasRemaining()).isFalse();
            assertThat(target.flip()).isEqualTo(ByteBuffer.wrap(data));
            ByteBuffer whole = Kernels.read(device, memory.memory());
            assertThat(whole.slice(0, offset)).isEqualTo(ByteBuffer.allocate(offset));
            assertThat(whole.slice(offset + bytes, 64)).isEqualTo(ByteBuffer.allocate(64));
        }
    }

    @Test
    void memoryOfAnotherDeviceIsRefused() {
        try (CudaDevice device = EmulatedCuda.open(0);
                CudaDevice other = EmulatedCuda.open(1);
                DeviceAllocation memory = other.allocate(16)) {
            assertThatThrownBy(() -> device.upload(ByteBuffer.allocate(16), memory.memory()))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("on cuda:1")
                    .hasMessageContaining("on cuda:0");
            assertThatThrownBy(() -> device.download(memory.memory(), ByteBuffer.allocate(16)))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("on cuda:1");
        }
    }

    @Test
    void moreThanTheMemoryHoldsIsRefused() {
        try (CudaDevice device = EmulatedCuda.open(0);
                DeviceAllocation memory = device.allocate(16)) {
            assertThatThrownBy(() -> device.upload(ByteBuffer.allocate(17), memory.memory()))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("17 bytes")
                    .hasMessageContaining("16");
        }
    }

    @Test
    void moreThanTheDeviceHasIsRefusedWithTheSizes() {
        try (CudaDevice device = EmulatedCuda.open(0)) {
            assertThatThrownBy(() -> device.allocate(1L << 50))
                    .isInstanceOf(EpResourceException.class)
                    .hasMessageContaining(Long.toString(1L << 50))
                    .hasMessageContaining("bytes free")
                    .hasMessageContaining("CUDA_ERROR_OUT_OF_MEMORY");
            assertThatThrownBy(() -> device.allocate(-1)).isInstanceOf(EpArgumentException.class);
        }
    }

    @Test
    void closedAllocationsAreRefusedAndMayBeClosedAgain() {
        try (CudaDevice device = EmulatedCuda.open(0)) {
            DeviceAllocation memory = device.allocate(16);
            DeviceMemory before = memory.memory();
            memory.close();
            memory.close();
            assertThatThrownBy(memory::memory)
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("closed");
            assertThatThrownBy(() -> device.upload(ByteBuffer.allocate(16), before))
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("is in memory that is closed (an allocation, 16 bytes on cuda:0");
            // Without its owner only the driver knows.
            DeviceMemory bare = DeviceMemory.of(before.address(), before.byteSize(), before.device());
            assertThatThrownBy(() -> device.upload(ByteBuffer.allocate(16), bare))
                    .hasMessageContaining("CUDA_ERROR_INVALID_VALUE");
        }
    }

    @Test
    void allocationsOfNothingHoldNothing() {
        try (CudaDevice device = EmulatedCuda.open(0);
                DeviceAllocation memory = device.allocate(0)) {
            assertThat(memory.memory().byteSize()).isZero();
            device.upload(ByteBuffer.allocate(0), memory.memory());
        }
    }

    @Test
    void devicesThatDoNotExistAreRefusedWithTheirNumber() {
        EmulatedCuda.require();
        assertThatThrownBy(() -> new CudaDeviceProvider().open(Device.cuda(99)))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("cuda:99")
                .hasMessageMatching(".*this process sees [1-9][0-9]* GPUs.*");
    }

    @Test
    void pinnedMemoryIsZeroAndReachedByCopies() {
        try (CudaDevice device = EmulatedCuda.open(0);
                PinnedMemory pinned = device.allocatePinned(4096);
                DeviceAllocation memory = device.allocate(4096)) {
            assertThat(pinned.memory().getLong(4088)).isZero();
            pinned.memory().putLong(4088, 77);
            device.copy(memory.memory().address(), pinned.deviceAddress(), 4096, 0);
            assertThat(Kernels.read(device, memory.memory()).getLong(4088)).isEqualTo(77);
            device.zero(memory.memory().address() + 4088, 8, 0);
            assertThat(Kernels.read(device, memory.memory()).getLong(4088)).isZero();
        }
    }

    @Test
    void memoryOfAnArenaIsFreedWhereOnlyTheContextIsKept() {
        try (CudaDevice device = EmulatedCuda.open(0)) {
            device.keepContext();
            assertThat(isFreedWithItsArena(device)).isTrue();
            device.keepMemory();
            assertThat(isFreedWithItsArena(device)).isFalse();
        }
    }

    private static boolean isFreedWithItsArena(CudaDevice device) {
        TensorArena arena = device.arena();
        arena.memory(64);
        return DriverCalls.during(arena::close).contains("cuMemFreeAsync");
    }

    @Test
    void factsDescribeTheGpu() {
        try (CudaDevice device = EmulatedCuda.open(0)) {
            assertThat(device.info().architecture()).isEqualTo("sm_90");
            assertThat(device.info().multiprocessors()).isEqualTo(16);
            assertThat(device.info().sharedBytes()).isEqualTo(232_448);
            assertThat(device.info().warpSize()).isEqualTo(32);
            assertThat(device.hasBulkCopies()).isTrue();
        }
    }
}
