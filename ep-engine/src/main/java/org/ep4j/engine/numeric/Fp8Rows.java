package org.ep4j.engine.numeric;

import java.nio.ByteBuffer;
import org.ep4j.EpShape;
import org.ep4j.engine.rows.Rows;
import org.ep4j.transport.memory.HostMemory;

/** Casts BF16 rows to FP8 E4M3 with one scale for each {@link EpShape#SCALE_BLOCK} channels. One thread at a time. */
public final class Fp8Rows {
    /** Smallest divisor, so that a block of zeros has a scale (peers clamp alike). */
    private static final float SMALLEST_AMAX = 1e-4f;

    private static final int INFINITY = 0x7f800000;
    private static final int BLOCK_PAIRS = EpShape.SCALE_BLOCK / 2;

    private final RowKernels kernels = RowKernels.best();
    private final Rows rows;
    private final int pairs;
    private final int[] packed;
    private final int[] pairCodes;
    private final float[] factors;
    private final HostMemory scales;

    /** For rows of {@code hidden} channels, a multiple of 16. */
    public Fp8Rows(int hidden, Rows rows) {
        this.rows = rows;
        pairs = hidden / 2;
        packed = new int[pairs];
        pairCodes = new int[pairs];
        factors = new float[(hidden + EpShape.SCALE_BLOCK - 1) / EpShape.SCALE_BLOCK];
        scales = HostMemory.of(ByteBuffer.allocateDirect(4 * factors.length));
    }

    /** Scales of the blocks of the row that was cast last, as binary32. */
    public HostMemory scales() {
        return scales;
    }

    /**
     * Casts one row.
     *
     * @param codes gets a byte for each channel at {@code codesOffset}
     * @param powerOfTwo true to round scales up to a power of two
     */
    public void cast(HostMemory memory, long offset, HostMemory codes, long codesOffset, boolean powerOfTwo) {
        if (rows.isNative()) {
            rows.cast(memory, offset, codes, codesOffset, scales, 2 * pairs, powerOfTwo);
            return;
        }
        memory.getInts(offset, packed, 0, pairs);
        for (int b = 0; b < factors.length; b++) {
            float amax = largest(b * BLOCK_PAIRS, Math.min(pairs, (b + 1) * BLOCK_PAIRS));
            float scale = amax / E4m3.MAX;
            if (powerOfTwo) {
                int exponent = exponentRoundedUp(scale);
                scales.putInt(4L * b, exponent << 23);
                factors[b] = Math.scalb(1f, 127 - exponent);
            } else {
                scales.putFloat(4L * b, scale);
                factors[b] = E4m3.MAX / amax;
            }
        }
        kernels.encode(packed, factors, BLOCK_PAIRS, pairCodes);
        for (int i = 0; i < pairs / 2; i++) {
            pairCodes[i] = pairCodes[2 * i] | pairCodes[2 * i + 1] << 16;
        }
        codes.putInts(codesOffset, pairCodes, 0, pairs / 2);
    }

    /** Largest magnitude in a block, except NaN. */
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

    /** Biased exponent of the smallest power of two that is not below {@code value}, which is positive and normal. */
    static int exponentRoundedUp(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (bits >>> 23) + ((bits & 0x7fffff) != 0 ? 1 : 0);
    }
}
