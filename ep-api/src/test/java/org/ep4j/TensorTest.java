package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TensorTest {
    private static DeviceMemory memory(long address, long bytes) {
        return new DeviceMemory(address, bytes, Device.HOST);
    }

    @Test
    void sizesFollowFromTypeAndShape() {
        Tensor tensor = Tensor.of(memory(4096, 100), DataType.FP32, 2, 3, 4);
        assertThat(tensor.byteSize()).isEqualTo(96);
        assertThat(tensor.elements()).isEqualTo(24);
        assertThat(tensor.dim(0)).isEqualTo(2);
        assertThat(tensor.dim(2)).isEqualTo(4);
        assertThat(tensor.address()).isEqualTo(4096);
        assertThat(tensor).hasToString("FP32[2, 3, 4]@host:0+0x1000");
    }

    @Test
    void memoryThatIsTooSmallIsRefusedWithBothSizes() {
        assertThatThrownBy(() -> Tensor.of(memory(4096, 95), DataType.FP32, 2, 3, 4))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("95 bytes")
                .hasMessageContaining("96 bytes for FP32[2, 3, 4]");
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void anAddressMustBeAMultipleOfTheElement(DataType type) {
        assertThat(Tensor.of(memory(64, 64), type, 2).address()).isEqualTo(64);
        // The upper half of the address space counts as negative.
        assertThat(Tensor.of(memory(-64, 64), type, 2).address()).isEqualTo(-64);
        if (type.bytes() > 1) {
            for (long address : new long[] {65, -63}) {
                assertThatThrownBy(() -> Tensor.of(memory(address, 62), type, 2))
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining("a multiple of " + type.bytes());
            }
        }
    }

    @Test
    void emptyTensorsNeedNoMemory() {
        assertThat(Tensor.of(memory(0, 0), DataType.BF16, 0, 7168).elements()).isZero();
        assertThat(Tensor.of(memory(0, 0), DataType.BF16, 7168, 0).byteSize()).isZero();
        assertThat(Tensor.bytes(DataType.FP32, List.of(0L, Long.MAX_VALUE))).isZero();
        assertThat(Tensor.bytes(DataType.FP32, List.of(Long.MAX_VALUE, 0L))).isZero();
        assertThat(Tensor.bytes(DataType.FP32, List.of())).as("a scalar").isEqualTo(4);
    }

    @Test
    void negativeAndOverlongShapesAreRefused() {
        for (List<Long> shape : List.of(
                List.of(-1L),
                List.of(0L, -1L),
                List.of(-1L, 0L),
                List.of(Long.MAX_VALUE),
                List.of(1L << 31, 1L << 31, 2L),
                List.of(1L << 61, 2L))) {
            assertThatThrownBy(() -> Tensor.bytes(DataType.FP32, shape))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining(shape.toString());
        }
    }

    @Property
    void bytesAreTheProductOrARefusalAndNeverAnOverflow(
            @ForAll @Size(max = 5) List<@LongRange(min = 0, max = 1L << 32) Long> shape) {
        var exact = java.math.BigInteger.valueOf(8);
        for (long dim : shape) {
            exact = exact.multiply(java.math.BigInteger.valueOf(dim));
        }
        if (exact.bitLength() < 64) {
            assertThat(Tensor.bytes(DataType.INT64, shape)).isEqualTo(exact.longValueExact());
        } else {
            assertThatThrownBy(() -> Tensor.bytes(DataType.INT64, shape)).isInstanceOf(EpArgumentException.class);
        }
    }

    @Test
    void theShapeIsCopied() {
        List<Long> shape = new ArrayList<>(List.of(2L));
        Tensor tensor = new Tensor(memory(8, 16), DataType.INT64, shape);
        shape.set(0, 99L);
        assertThat(tensor.shape()).containsExactly(2L);
    }

    @Test
    void elementSizesAreThoseOfTheFormats() {
        assertThat(DataType.values()).extracting(DataType::bytes).containsExactly(2, 1, 1, 1, 1, 4, 1, 4, 8);
    }
}
