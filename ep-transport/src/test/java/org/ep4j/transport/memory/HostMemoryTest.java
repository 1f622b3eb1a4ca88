package org.ep4j.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Random;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class HostMemoryTest {
    private static final long WINDOW = 1L << 30;

    private final HostDevice device = new HostDevice();

    @Test
    void piecesMayLieAcrossTheBordersOfItsBuffers() {
        // Pages that nobody touches cost nothing, so 3 GiB are fine on a small machine.
        try (DeviceAllocation allocation = device.allocate(3 * WINDOW)) {
            HostMemory memory = HostMemory.of(allocation.memory());
            byte[] bytes = new byte[10_000];
            new Random(1).nextBytes(bytes);
            for (long border : new long[] {WINDOW, 2 * WINDOW}) {
                long offset = border - 4000;
                memory.putBytes(offset, bytes, 0, bytes.length);
                byte[] back = new byte[bytes.length];
                memory.getBytes(offset, back, 0, back.length);
                assertThat(back).isEqualTo(bytes);
                memory.copy(100, memory, offset, bytes.length);
                memory.getBytes(100, back, 0, back.length);
                assertThat(back).isEqualTo(bytes);
                memory.zero(offset + 10, 5000);
                assertThat(memory.getByte(offset + 9)).isEqualTo(bytes[9]);
                assertThat(memory.getByte(offset + 10)).isZero();
                assertThat(memory.getByte(offset + 5009)).isZero();
                assertThat(memory.getByte(offset + 5010)).isEqualTo(bytes[5010]);
                memory.putLongRelease(border - 8, 42);
                assertThat(memory.getLongAcquire(border - 8)).isEqualTo(42);
            }
        }
    }

    @Test
    void accessBeyondTheEndIsRefused() {
        try (DeviceAllocation allocation = device.allocate(64)) {
            HostMemory memory = HostMemory.of(allocation.memory());
            assertThatThrownBy(() -> memory.getInt(61)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> memory.putLong(-8, 1)).isInstanceOf(RuntimeException.class);
        }
    }

    @Test
    void newMemoryIsZeroAndAligned() {
        try (DeviceAllocation allocation = device.allocate(1000)) {
            assertThat(allocation.memory().address() % 256).isZero();
            ByteBuffer view = device.view(allocation.memory());
            while (view.hasRemaining()) {
                assertThat(view.get()).isZero();
            }
        }
    }

    @Test
    void aViewOutlivesItsAllocation() {
        DeviceAllocation allocation = device.allocate(8 << 20);
        ByteBuffer view = device.view(allocation.memory());
        view.putLong(0, 7);
        allocation.close();
        allocation.close();
        assertThat(view.getLong(0)).isEqualTo(7);
        assertThatThrownBy(allocation::memory)
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void closedMemoryIsNeitherViewedNorCopied() {
        DeviceAllocation allocation = device.allocate(64);
        DeviceMemory part = allocation.memory().slice(8, 16);
        ByteBuffer before = device.view(part);
        allocation.close();
        before.putLong(0, 1);
        for (Runnable use : List.<Runnable>of(
                () -> device.view(part),
                () -> device.upload(ByteBuffer.allocate(8), part),
                () -> device.download(part, ByteBuffer.allocate(8)))) {
            assertThatThrownBy(use::run)
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("is in memory that is closed (an allocation, 64 bytes on host:0");
        }
    }

    @Test
    void uploadAndDownloadMoveTheRemainingBytes() {
        try (DeviceAllocation allocation = device.allocate(16)) {
            ByteBuffer source =
                    ByteBuffer.wrap(new byte[] {1, 2, 3, 4, 5, 6, 7, 8}).position(2);
            device.upload(source, allocation.memory());
            ByteBuffer target = ByteBuffer.allocate(6);
            device.download(allocation.memory(), target);
            assertThat(target.array()).containsExactly(3, 4, 5, 6, 7, 8);
            assertThatThrownBy(() -> device.download(allocation.memory(), ByteBuffer.allocate(17)))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("17 bytes");
        }
    }

    @Test
    void wrapTakesTheRemainingPartOfADirectBuffer() {
        ByteBuffer direct = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder());
        direct.putInt(20, 99);
        DeviceMemory memory = device.wrap(direct.position(16));
        assertThat(memory.byteSize()).isEqualTo(48);
        assertThat(HostMemory.of(memory).getInt(4)).isEqualTo(99);
        assertThat(memory.owner()).containsSame(direct);
        assertThatThrownBy(() -> device.wrap(ByteBuffer.allocate(8)))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("direct");
    }

    @Test
    void memoryOfOtherDevicesIsRefused() {
        DeviceMemory elsewhere = DeviceMemory.of(4096, 8, Device.cuda(0));
        assertThatThrownBy(() -> device.view(elsewhere))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("cuda:0");
    }
}
