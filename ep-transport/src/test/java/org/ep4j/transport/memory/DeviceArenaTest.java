package org.ep4j.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class DeviceArenaTest {
    private final HostDevice device = new HostDevice();

    @Test
    void memoryIsZeroedAlignedAndOfTheAskedLength() {
        try (TensorArena arena = device.arena()) {
            for (int bytes : new int[] {0, 1, 255, 257}) {
                DeviceMemory memory = arena.memory(bytes);
                assertThat(memory.byteSize()).isEqualTo(bytes);
                assertThat(memory.address()).isNotZero();
                assertThat(memory.address() % 256).isZero();
                byte[] content = new byte[bytes];
                device.view(memory).get(content);
                assertThat(content).containsExactly(new byte[bytes]);
            }
            assertThatThrownBy(() -> arena.memory(-1)).isInstanceOf(EpArgumentException.class);
        }
    }

    @Test
    void valuesAreReadFromTheDevice() {
        try (TensorArena arena = device.arena()) {
            float[] numbers = {1, -2.5f, 1 + 0x1p-8f, Float.POSITIVE_INFINITY, 0, 3};
            Tensor bf16 = arena.bf16(numbers, 2, 3);
            assertThat(bf16.type()).isEqualTo(DataType.BF16);
            assertThat(bf16.dim(1)).isEqualTo(3);
            assertThat(device.floats(bf16)).containsExactly(1, -2.5f, 1, Float.POSITIVE_INFINITY, 0, 3);
            assertThat(device.floats(bf16.rows(1, 1))).containsExactly(Float.POSITIVE_INFINITY, 0, 3);
            assertThat(device.floats(arena.fp32(numbers, 6))).containsExactly(numbers);
            assertThat(device.ints(arena.int32(new int[] {7, -1}, 2, 1))).containsExactly(7, -1);
            assertThat(device.longs(arena.int64(new long[] {1L << 40, -1}, 2))).containsExactly(1L << 40, -1);
            assertThat(device.ints(arena.tensor(DataType.INT32, 0, 4))).isEmpty();
            assertThat(device.ints(arena.tensor(DataType.INT32, 3))).containsOnly(0);
        }
    }

    @Test
    void wrongNumbersOfValuesAndWrongTypesAreRefused() {
        try (TensorArena arena = device.arena()) {
            for (int length : new int[] {5, 7}) {
                assertThatThrownBy(() -> arena.int32(new int[length], 2, 3))
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining(length + " elements")
                        .hasMessageContaining("6 elements for [2, 3]");
            }
            assertThatThrownBy(() -> arena.tensor(DataType.FP32, -1)).isInstanceOf(EpArgumentException.class);
            Tensor ids = arena.tensor(DataType.INT32, 2);
            assertThatThrownBy(() -> device.longs(ids))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("of type [INT64]");
            assertThatThrownBy(() -> device.floats(ids)).isInstanceOf(EpArgumentException.class);
        }
        Tensor elsewhere = Tensor.at(4096, Device.cuda(0), DataType.INT32, 2);
        assertThatThrownBy(() -> device.ints(elsewhere))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("on cuda:0");
    }

    @Test
    void closeFreesEverythingOnce() {
        List<String> freed = new ArrayList<>();
        TensorArena arena = new DeviceArena(device, bytes -> {
            DeviceAllocation own = device.allocate(bytes);
            return new DeviceAllocation(own.memory(), () -> {
                freed.add(bytes + " bytes");
                own.close();
            });
        });
        Tensor tensor = arena.int32(new int[] {1}, 1);
        arena.memory(16);
        arena.close();
        arena.close();
        assertThat(freed).containsExactly("16 bytes", "4 bytes");
        assertThatThrownBy(() -> device.ints(tensor)).isInstanceOf(EpStateException.class);
        assertThatThrownBy(() -> arena.memory(1)).isInstanceOf(EpStateException.class);
    }

    @Test
    void closeFreesTheRestWhenSomeCannotBeFreed() {
        List<Long> freed = new ArrayList<>();
        TensorArena arena = new DeviceArena(
                device,
                bytes -> new DeviceAllocation(DeviceMemory.of(4096, bytes, Device.HOST), () -> {
                    freed.add(bytes);
                    if (bytes > 1) {
                        throw new EpStateException("no " + bytes);
                    }
                }));
        for (int bytes = 1; bytes <= 3; bytes++) {
            arena.memory(bytes);
        }
        assertThatThrownBy(arena::close).isInstanceOf(EpStateException.class).hasMessage("no 3");
        assertThat(freed).containsExactly(3L, 2L, 1L);
        arena.close();
        assertThat(freed).hasSize(3);
    }
}
