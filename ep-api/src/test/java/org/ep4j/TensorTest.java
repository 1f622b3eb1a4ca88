package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.LongRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("verify")
class TensorTest {
    private static DeviceMemory memory(long address, long bytes) {
        return DeviceMemory.of(address, bytes, Device.HOST);
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
        if (type.bytes(1) > 1) {
            for (long address : new long[] {65, -63}) {
                assertThatThrownBy(() -> Tensor.of(memory(address, 62), type, 2))
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining("a multiple of " + type.bytes(1));
            }
        }
    }

    @Test
    void emptyTensorsNeedNoMemory() {
        assertThat(Tensor.of(memory(0, 0), DataType.BF16, 0, 7168).elements()).isZero();
        assertThat(Tensor.of(memory(0, 0), DataType.BF16, 7168, 0).byteSize()).isZero();
        assertThat(Tensor.at(0, Device.HOST, DataType.FP32, 0, Long.MAX_VALUE).byteSize())
                .isZero();
        assertThat(Tensor.at(0, Device.HOST, DataType.FP32, Long.MAX_VALUE, 0).byteSize())
                .isZero();
    }

    @Test
    void aScalarHasOneElementAndNoDimension() {
        Tensor scalar = Tensor.at(64, Device.HOST, DataType.FP32);
        assertThat(scalar.dimensions()).isZero();
        assertThat(scalar.elements()).isEqualTo(1);
        assertThat(scalar.byteSize()).isEqualTo(4);
        assertThat(scalar).hasToString("FP32[]@host:0+0x40");
    }

    @Test
    void negativeAndOverlongShapesAreRefused() {
        for (long[] dims :
                new long[][] {{-1}, {0, -1}, {-1, 0}, {Long.MAX_VALUE}, {1L << 31, 1L << 31, 2}, {1L << 61, 2}}) {
            assertThatThrownBy(() -> Tensor.at(64, Device.HOST, DataType.FP32, dims))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining(Arrays.toString(dims));
        }
    }

    @Property
    void bytesAreTheProductOrARefusalAndNeverAnOverflow(
            @ForAll @Size(max = 5) List<@LongRange(min = 0, max = 1L << 32) Long> shape) {
        var exact = java.math.BigInteger.valueOf(8);
        for (long dim : shape) {
            exact = exact.multiply(java.math.BigInteger.valueOf(dim));
        }
        long[] dims = shape.stream().mapToLong(dim -> dim).toArray();
        if (exact.bitLength() < 64) {
            assertThat(Tensor.at(64, Device.HOST, DataType.INT64, dims).byteSize())
                    .isEqualTo(exact.longValueExact());
        } else {
            assertThatThrownBy(() -> Tensor.at(64, Device.HOST, DataType.INT64, dims))
                    .isInstanceOf(EpArgumentException.class);
        }
    }

    @Test
    void theDimensionsAreCopied() {
        long[] dims = {2};
        Tensor tensor = Tensor.of(memory(8, 16), DataType.INT64, dims);
        Tensor other = Tensor.at(8, Device.HOST, DataType.INT64, dims);
        dims[0] = 99;
        assertThat(tensor.dim(0)).isEqualTo(2);
        assertThat(other.dim(0)).isEqualTo(2);
    }

    @Test
    void aTensorAtAnAddressHasMemoryOfItsSize() {
        Tensor tensor = Tensor.at(4096, Device.cuda(1), DataType.BF16, 3, 5);
        assertThat(tensor.memory()).isEqualTo(DeviceMemory.of(4096, 30, Device.cuda(1)));
        assertThat(tensor).isEqualTo(Tensor.of(tensor.memory(), DataType.BF16, 3, 5));
        assertThatThrownBy(() -> Tensor.at(0, Device.cuda(1), DataType.BF16, 3, 5))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("address is 0");
    }

    @Test
    void rowsAreAPartOfTheOutermostDimension() {
        Tensor tensor = Tensor.of(memory(4096, 1000), DataType.FP32, 4, 2, 3);
        Tensor rows = tensor.rows(1, 2);
        assertThat(rows).isEqualTo(Tensor.of(memory(4096 + 24, 48), DataType.FP32, 2, 2, 3));
        assertThat(tensor.rows(4, 0).elements()).isZero();
        assertThat(Tensor.at(0, Device.HOST, DataType.FP32, 0, 7).rows(0, 0).elements())
                .isZero();
        for (long[] part : new long[][] {{-1, 1}, {0, 5}, {4, 1}, {1, -1}, {Long.MAX_VALUE, 2}}) {
            assertThatThrownBy(() -> tensor.rows(part[0], part[1]))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("inside [0, 4) of FP32[4, 2, 3]");
        }
        Tensor scalar = Tensor.of(memory(64, 4), DataType.FP32);
        assertThatThrownBy(() -> scalar.rows(0, 0)).isInstanceOf(EpArgumentException.class);
    }

    @Test
    void tensorsAreEqualByMemoryTypeAndDimensions() {
        Tensor tensor = Tensor.of(memory(64, 64), DataType.INT32, 2, 4);
        assertThat(tensor)
                .isEqualTo(Tensor.of(memory(64, 64), DataType.INT32, 2, 4))
                .hasSameHashCodeAs(Tensor.of(memory(64, 64), DataType.INT32, 2, 4))
                .isNotEqualTo(Tensor.of(memory(64, 64), DataType.FP32, 2, 4))
                .isNotEqualTo(Tensor.of(memory(64, 64), DataType.INT32, 4, 2))
                .isNotEqualTo(Tensor.of(memory(64, 63), DataType.INT32, 2, 4));
    }
}
