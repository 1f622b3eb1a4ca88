package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Random;
import org.ep4j.gpu.driver.GpuModule;
import org.ep4j.transport.memory.DeviceAllocation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What kernels are made of, through the whole path: compiled, loaded, launched. */
@Tag("verify")
final class CudaPrimitivesTest {
    private static final int BLOCKS = 3;
    private static final int THREADS = 128;
    private static final int WORDS = 32;
    private static final int LANES = 32;

    private CudaDevice device;
    private GpuModule module;

    @BeforeEach
    void load() {
        device = EmulatedCuda.open(0);
        module = device.load("primitives", Primitives.SOURCE);
    }

    @AfterEach
    void unload() {
        if (module != null) {
            module.close();
        }
        if (device != null) {
            device.close();
        }
    }

    @Test
    void everyPrimitiveReturnsItsDocumentedResult() {
        int all = BLOCKS * THREADS;
        try (DeviceAllocation out = device.allocate(8L * WORDS * all);
                DeviceAllocation memory = device.allocate(64L * all);
                DeviceAllocation counters = device.allocate(64);
                DeviceAllocation input = device.allocate(4096);
                DeviceAllocation copied = device.allocate(4096)) {
            device.upload(Kernels.buffer(4096).putInt(4, 123), input.memory());
            Kernels.launch(
                    device,
                    module.kernel("primitives", 0),
                    BLOCKS,
                    THREADS,
                    0,
                    0,
                    out.memory().address(),
                    memory.memory().address(),
                    counters.memory().address(),
                    input.memory().address(),
                    copied.memory().address());
            ByteBuffer words = Kernels.read(device, out.memory());
            for (int t = 0; t < all; t++) {
                long[] seen = new long[WORDS];
                for (int i = 0; i < WORDS; i++) {
                    seen[i] = words.getLong();
                }
                seen[20] = 0; // what another thread had there
                assertThat(seen).as("thread " + t).isEqualTo(expected(t));
            }
            ByteBuffer counted = Kernels.read(device, counters.memory());
            assertThat(counted.getInt(0)).isEqualTo(all);
            assertThat(counted.getInt(16)).isEqualTo(all);
            ByteBuffer written = Kernels.read(device, memory.memory());
            assertThat(written.getLong(64 + 48)).isEqualTo(11);
            assertThat(written.getInt(64 + 44)).isEqualTo(1);
        }
    }

    private static long[] expected(int t) {
        int lane = t % LANES;
        int first = t - lane;
        float up = 1 + 0x1p-23f;
        long[] words = new long[WORDS];
        words[0] = lane;
        words[1] = (t % THREADS) / LANES;
        words[2] = 0xaaaaaaaaL;
        words[3] = LANES / 2;
        words[4] = 1;
        words[5] = first + 5L;
        words[6] = bits(1.5f * (first + (lane + 1) % LANES));
        words[7] = (long) (first + LANES - 1 - lane) << 33;
        words[8] = lane < 3 ? t : t - 3;
        words[9] = t ^ 7;
        words[10] = bits((float) (t ^ 16));
        words[11] = (7L << (lane / 3 * 3)) & 0xffffffffL;
        words[12] = 1;
        words[13] = (long) THREADS * (LANES - 1) / 2;
        words[14] = t + 4L;
        words[15] = 5L << 40;
        words[16] = 0x80000000L;
        words[17] = -7;
        words[18] = 11;
        words[19] = 123;
        words[21] = 1;
        words[22] = bits(Math.fma(up, up, -1));
        words[23] = bits(1f / 3);
        words[24] = bits(up * up - 1);
        words[25] = bits(3);
        words[26] = bits(0.125f);
        words[27] = 0x7fc12345L;
        words[28] = BLOCKS;
        words[29] = 0xfe38;
        return words;
    }

    private static long bits(float value) {
        return Float.floatToRawIntBits(value) & 0xffffffffL;
    }

    @Test
    void bulkCopiesMoveEveryByte() {
        byte[] bytes = new byte[4096];
        new Random(1).nextBytes(bytes);
        try (DeviceAllocation input = device.allocate(4096);
                DeviceAllocation copied = device.allocate(4096)) {
            device.upload(ByteBuffer.wrap(bytes), input.memory());
            long to = copied.memory().address();
            Kernels.launch(
                    device,
                    module.kernel("bulk", 1024),
                    1,
                    32,
                    1024,
                    0,
                    0,
                    0,
                    0,
                    input.memory().address(),
                    to);
            assertThat(Kernels.read(device, copied.memory())).isEqualTo(ByteBuffer.wrap(bytes));
        }
    }

    @Test
    void codesAreTheNearestNumbersAndTiesGoToEven() {
        float[] values = new float[1024];
        Random random = new Random(2);
        for (int i = 0; i < values.length; i++) {
            // All codes, the middles between them and their neighbours, numbers at random, and what is no number.
            float number = i < 512 ? number(i / 4) : 0;
            float next = i < 504 ? number(i / 4 + 1) : 0;
            float middle = (number + next) / 2;
            values[i] = i < 504
                    ? new float[] {number, middle, Math.nextUp(middle), -Math.nextDown(middle)}[i % 4]
                    : i < 512
                            ? new float[] {448, 449, 464, 1e30f, -500, Float.POSITIVE_INFINITY, Float.NaN, -0f}[i - 504]
                            : Float.intBitsToFloat(random.nextInt());
        }
        try (DeviceAllocation input = device.allocate(4096);
                DeviceAllocation copied = device.allocate(4096)) {
            ByteBuffer in = Kernels.buffer(4096);
            for (float value : values) {
                in.putFloat(value);
            }
            device.upload(in.flip(), input.memory());
            long to = copied.memory().address();
            Kernels.launch(
                    device,
                    module.kernel("codes", 0),
                    8,
                    128,
                    0,
                    0,
                    0,
                    0,
                    0,
                    input.memory().address(),
                    to);
            ByteBuffer out = Kernels.read(device, copied.memory());
            for (int i = 0; i < values.length; i++) {
                assertThat(out.get(i) & 0xff).as("of " + values[i]).isEqualTo(nearestCode(values[i]));
            }
        }
    }

    /** Value of a code without a sign; that of 127, which is none, as if it were the next number. */
    private static float number(int code) {
        int exponent = code >> 3;
        return exponent == 0 ? (code & 7) * 0x1p-9f : (8 + (code & 7)) * (float) Math.scalb(1.0, exponent - 10);
    }

    private static int nearestCode(float value) {
        if (Float.isNaN(value)) {
            return 0x7f;
        }
        int sign = Float.floatToRawIntBits(value) < 0 ? 0x80 : 0;
        double size = Math.min(Math.abs((double) value), 448);
        int best = 0;
        for (int code = 1; code <= 0x7e; code++) {
            double gain = Math.abs(size - number(best)) - Math.abs(size - number(code));
            if (gain > 0 || (gain == 0 && code % 2 == 0)) {
                best = code;
            }
        }
        return sign | best;
    }
}
