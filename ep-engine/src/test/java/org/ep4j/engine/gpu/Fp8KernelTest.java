package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.ep4j.DataType;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.LowLatencyDispatchResult;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** FP8 codes of numbers that have none, as kernels make them. */
@Timeout(120)
final class Fp8KernelTest {
    private static final EpShape SHAPE =
            EpShape.builder(256, 1, 1).maxLowLatencyTokens(1).build();

    /** Infinity is the largest magnitude of its block, a NaN is none; the block beside it has neither. */
    @ParameterizedTest
    @CsvSource({"FP8, 7f, ff, 00, 3c124925", "FP8_POW2, 7e, fe, 00, 3c800000"})
    void aBlockWithInfinityAndNan(WireFormat format, String infinity, String negative, String number, String scale) {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 1)) {
            both.check(rank -> {
                ByteBuffer x = ByteBuffer.allocate(2 * SHAPE.hidden()).order(ByteOrder.nativeOrder());
                x.putShort(0, (short) 0x7f80);
                x.putShort(2, (short) 0xff80);
                x.putShort(4, (short) 0x7fc0);
                x.putShort(6, (short) 0xffc0);
                x.putShort(8, (short) 0x4040);
                x.putShort(2 * 128, (short) 0x4080);
                LowLatencyDispatchResult result = rank.buffer()
                        .dispatch(LowLatencyDispatchRequest.of(
                                        rank.tensor(DataType.BF16, x.array(), 1, SHAPE.hidden()),
                                        rank.ints(new int[1], 1, 1))
                                .format(format)
                                .build());
                byte[] codes = rank.read(result.x());
                assertThat(hex(codes[0])).as("infinity").isEqualTo(infinity);
                assertThat(hex(codes[1])).as("negative infinity").isEqualTo(negative);
                assertThat(hex(codes[2])).as("NaN").isEqualTo("7f");
                assertThat(hex(codes[3])).as("negative NaN").isEqualTo("ff");
                assertThat(hex(codes[4])).as("a number beside them").isEqualTo(number);
                assertThat(hex(codes[128]))
                        .as("the largest of another block")
                        .isEqualTo(format == WireFormat.FP8 ? "7e" : "78");
                ByteBuffer scales = ByteBuffer.wrap(rank.read(result.scales().orElseThrow()))
                        .order(ByteOrder.nativeOrder());
                assertThat(scales.getFloat(0)).as("scale").isEqualTo(Float.POSITIVE_INFINITY);
                assertThat(Integer.toHexString(scales.getInt(4)))
                        .as("scale of the other block")
                        .isEqualTo(scale);
            });
        }
    }

    private static String hex(byte code) {
        return String.format("%02x", code);
    }
}
