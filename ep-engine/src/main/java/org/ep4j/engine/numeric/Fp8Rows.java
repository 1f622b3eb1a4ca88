package org.ep4j.engine.numeric;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import org.ep4j.EpShape;
import org.ep4j.engine.memory.HostMemory;

/**
 * Casts BF16 rows to FP8 E4M3 with one scale for each {@link EpShape#SCALE_BLOCK} channels. One thread at a time. Loops are
 * kept simple for the same reason as in {@link RowSum}.
 */
public final class Fp8Rows {
    /** Largest magnitude of E4M3 "fn". */
    private static final float MAX = 448f;

    /** Smallest divisor, so that a block of zeros has a scale (peers clamp alike). */
    private static final float SMALLEST_AMAX = 1e-4f;

    private static final int INFINITY = 0x7f800000;

    /** Adding 2^14 to a magnitude below 2^-6 leaves it, rounded to a multiple of 2^-9, in the low bits of the sum. */
    private static final float SUBNORMAL_MAGIC = 16384f;

    private static final int SUBNORMAL_MAGIC_BITS = Float.floatToRawIntBits(SUBNORMAL_MAGIC);
    private static final int SMALLEST_NORMAL_BITS = Float.floatToRawIntBits(0x1p-6f);
    private static final int MAX_BITS = Float.floatToRawIntBits(MAX);

    /** Difference of the exponent biases, placed above the three mantissa bits. */
    private static final int REBIAS = (127 - 7) << 3;

    private final int pairs;
    private final int[] packed;
    private final int[] bits;
    private final float[] values;
    private final float[] magic;
    private final int[] magicBits;
    private final int[] evenCodes;
    private final int[] oddCodes;
    private final float[] scales;
    private final IntBuffer asInts;
    private final FloatBuffer asFloats;

    /** For rows of {@code hidden} elements, a multiple of 4. */
    public Fp8Rows(int hidden) {
        pairs = hidden / 2;
        packed = new int[pairs];
        bits = new int[pairs];
        values = new float[pairs];
        magic = new float[pairs];
        magicBits = new int[pairs];
        evenCodes = new int[pairs];
        oddCodes = new int[pairs];
        scales = new float[(hidden + EpShape.SCALE_BLOCK - 1) / EpShape.SCALE_BLOCK];
        ByteBuffer bridge = ByteBuffer.allocateDirect(4 * pairs).order(ByteOrder.nativeOrder());
        asInts = bridge.asIntBuffer();
        asFloats = bridge.asFloatBuffer();
    }

    /**
     * Casts one row.
     *
     * @param powerOfTwo true to round scales up to a power of two
     * @param codes gets the row's codes, four in an int, the first in the low byte
     * @param scalesOut gets what the codes are to be multiplied with
     */
    public void cast(HostMemory memory, long offset, boolean powerOfTwo, int[] codes, float[] scalesOut) {
        memory.getInts(offset, packed, 0, pairs);
        int block = EpShape.SCALE_BLOCK / 2;
        for (int b = 0; b < scales.length; b++) {
            float amax = largest(b * block, Math.min(pairs, (b + 1) * block));
            float inverse = amax / MAX;
            if (powerOfTwo) {
                inverse = roundUpToPowerOfTwo(inverse);
                scales[b] = Math.scalb(1f, 127 - (Float.floatToRawIntBits(inverse) >>> 23));
            } else {
                scales[b] = MAX / amax;
            }
            scalesOut[b] = inverse;
        }
        for (int i = 0; i < pairs; i++) {
            bits[i] = packed[i] << 16;
        }
        encode(evenCodes);
        for (int i = 0; i < pairs; i++) {
            bits[i] = packed[i] & 0xffff0000;
        }
        encode(oddCodes);
        for (int i = 0; i < pairs / 2; i++) {
            codes[i] = evenCodes[2 * i] | oddCodes[2 * i] << 8 | evenCodes[2 * i + 1] << 16 | oddCodes[2 * i + 1] << 24;
        }
    }

    /** Largest magnitude in a block, NaN ignored. */
    private float largest(int from, int to) {
        int most = 0;
        for (int i = from; i < to; i++) {
            int pair = packed[i];
            most = Math.max(most, Math.max(pair & 0x7fff0000, (pair << 16) & 0x7fff0000));
        }
        if (most > INFINITY) {
            most = 0;
            for (int i = from; i < to; i++) {
                most = Math.max(most, numberOrZero(packed[i] & 0x7fff0000));
                most = Math.max(most, numberOrZero((packed[i] << 16) & 0x7fff0000));
            }
        }
        return Math.max(SMALLEST_AMAX, Float.intBitsToFloat(most));
    }

    private static int numberOrZero(int magnitude) {
        return magnitude > INFINITY ? 0 : magnitude;
    }

    static float roundUpToPowerOfTwo(float value) {
        int bits = Float.floatToRawIntBits(value);
        int exponent = (bits >>> 23) + ((bits & 0x7fffff) != 0 ? 1 : 0);
        return Float.intBitsToFloat(exponent << 23);
    }

    private void encode(int[] codes) {
        asInts.put(0, bits, 0, pairs);
        asFloats.get(0, values, 0, pairs);
        int block = EpShape.SCALE_BLOCK / 2;
        for (int b = 0; b < scales.length; b++) {
            multiply(values, scales[b], b * block, Math.min(pairs, (b + 1) * block));
        }
        addMagic(values, magic, pairs);
        asFloats.put(0, values, 0, pairs);
        asInts.get(0, bits, 0, pairs);
        asFloats.put(0, magic, 0, pairs);
        asInts.get(0, magicBits, 0, pairs);
        encode(bits, magicBits, codes, pairs);
    }

    private static void multiply(float[] values, float scale, int from, int to) {
        for (int i = from; i < to; i++) {
            values[i] *= scale;
        }
    }

    private static void addMagic(float[] values, float[] to, int n) {
        for (int i = 0; i < n; i++) {
            to[i] = Math.abs(values[i]) + SUBNORMAL_MAGIC;
        }
    }

    /** Rounds to nearest even and saturates, without a branch. */
    private static void encode(int[] bits, int[] magicBits, int[] codes, int n) {
        for (int i = 0; i < n; i++) {
            int x = bits[i];
            int magnitude = x & 0x7fffffff;
            int nan = (INFINITY - magnitude) >> 31;
            int clamped = Math.min(magnitude, MAX_BITS);
            int normal = ((clamped + 0x7ffff + ((clamped >>> 20) & 1)) >>> 20) - REBIAS;
            int subnormal = magicBits[i] - SUBNORMAL_MAGIC_BITS;
            int small = (clamped - SMALLEST_NORMAL_BITS) >> 31;
            int code = (normal & ~small) | (subnormal & small);
            codes[i] = (code & ~nan) | (0x7f & nan) | ((x >>> 24) & 0x80);
        }
    }
}
