package org.ep4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.junit.jupiter.api.Test;

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
    void memoryOfAClosedAllocationIsRefusedByNameWhereverItIsUsed() {
        DeviceAllocation allocation = device.allocate(4096);
        DeviceMemory memory = allocation.memory();
        ByteBuffer before = device.view(memory).putInt(8, 5);
        allocation.close();
        List<ThrowingCallable> uses = List.of(
                () -> device.view(memory),
                () -> device.view(memory.slice(64, 8)),
                () -> new HostDevice().view(memory),
                () -> device.upload(ByteBuffer.allocate(4), memory),
                () -> device.download(memory, ByteBuffer.allocate(4)));
        uses.forEach(use -> assertThatThrownBy(use)
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("an allocation of 4096 bytes, which is closed"));
        assertThat(before.getInt(8)).isEqualTo(5);
    }

    @Test
    void rangeOfAClosedAllocationIsRefusedAlsoWhenItsAddressIsInUseAgain() {
        List<DeviceMemory> closed = new ArrayList<>();
        boolean again = false;
        for (int i = 0; i < 1000 && !again; i++) {
            try (DeviceAllocation allocation = device.allocate(64 << 10)) {
                again = closed.stream()
                        .anyMatch(old -> old.address() == allocation.memory().address());
                closed.forEach(old -> assertThatThrownBy(() -> device.view(old)).isInstanceOf(EpStateException.class));
                device.view(allocation.memory()).put(0, (byte) 1);
                closed.add(allocation.memory());
            }
        }
        assertThat(again).as("an address that was in use again").isTrue();
    }

    @Test
    void memoryThatIsNotOfThisLibraryIsViewedAsItsOwnerSays() throws InterruptedException {
        DeviceAllocation allocation = device.allocate(4096);
        DeviceMemory byAddress = new DeviceMemory(allocation.memory().address() + 16, 16, Device.HOST);
        device.view(allocation.memory()).putInt(16, 77);
        ByteBuffer view = device.view(byAddress);
        allocation.close();
        assertThat(view.getInt(0)).as("a range by address, viewed in time").isEqualTo(77);

        ByteBuffer wrapped = device.view(device.wrap(ByteBuffer.allocateDirect(1 << 20)
                        .order(ByteOrder.nativeOrder())
                        .putLong(512, 42))
                .slice(512, 8));
        for (int i = 0; i < 20; i++) {
            System.gc();
            Thread.sleep(5);
            ByteBuffer.allocateDirect(1 << 20).putLong(512, i);
            assertThat(wrapped.getLong(0))
                    .as("of a direct buffer that nothing else refers to")
                    .isEqualTo(42);
        }
    }

    @Test
    void memoryThatIsInUseIsFreedWhenItsUseEnds() {
        AtomicInteger freed = new AtomicInteger();
        try (DeviceAllocation behind = device.allocate(64)) {
            TrackedMemory tracked = new TrackedMemory("buffer-7", behind.memory(), freed::incrementAndGet);
            int seen = TrackedMemory.during(List.of(tracked.memory(), tracked.memory()), () -> {
                tracked.close();
                assertThat(TrackedMemory.closedOwner(tracked.memory())).contains("buffer-7");
                return freed.get();
            });
            assertThat(seen).isZero();
            assertThat(freed).hasValue(1);
            assertThatThrownBy(() -> TrackedMemory.during(List.of(tracked.memory()), freed::incrementAndGet))
                    .isInstanceOf(EpStateException.class);
            assertThat(freed).hasValue(1);
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
        DeviceMemory elsewhere = new DeviceMemory(4096, 8, new Device("cuda", 0));
        assertThatThrownBy(() -> device.view(elsewhere))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("cuda:0");
    }
}
