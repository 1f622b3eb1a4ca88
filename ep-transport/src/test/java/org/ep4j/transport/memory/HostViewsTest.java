package org.ep4j.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class HostViewsTest {
    private static final int ROW = 64;
    private static final int ROWS = 1000;

    private final ByteBuffer memory = ByteBuffer.allocateDirect(ROWS * ROW).order(ByteOrder.nativeOrder());

    private Tensor tensor(int row, int rows) {
        long address = HostMemory.address(memory) + (long) row * ROW;
        return Tensor.of(
                DeviceMemory.of(address, (long) rows * ROW, Device.HOST), DataType.INT32, rows, ROW / Integer.BYTES);
    }

    @Test
    void theSameMemoryIsAccessedThroughTheSameObject() {
        HostViews views = new HostViews();
        HostMemory first = views.of(tensor(3, 2));
        assertThat(views.of(tensor(3, 2))).isSameAs(first);
        assertThat(views.of(tensor(3, 1)).size()).isEqualTo(ROW);
        assertThat(views.of(tensor(3, 2)).size()).isEqualTo(2 * ROW);
    }

    @Test
    void moreMemoryThanIsRememberedIsAccessedWhereItIs() {
        for (int row = 0; row < ROWS; row++) {
            memory.putInt(row * ROW, row);
        }
        HostViews views = new HostViews();
        for (int turn = 0; turn < 2; turn++) {
            for (int row = 0; row < ROWS; row++) {
                assertThat(views.of(tensor(row, 1)).getInt(0)).isEqualTo(row);
            }
        }
    }
}
