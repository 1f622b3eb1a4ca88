package org.ep4j.engine.numeric;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;

/**
 * Loops that any JVM runs. One thread at a time.
 *
 * <p>Written as short loops over heap arrays, each with one kind of operation, because the compiler of JDK 17 vectorises these: bits
 * change between int and float by a copy through a small direct buffer, not element by element.
 */
final class PlainRowKernels implements RowKernels {
    private static final int INFINITY = 0x7f800000;

    private int[] bits = {};
    private int[] evenBits = {};
    private float[] unpacked = {};
    private float[] sumEven = {};
    private float[] sumOdd = {};
    private IntBuffer asInts = IntBuffer.allocate(0);
    private FloatBuffer asFloats = FloatBuffer.allocate(0);

    private void room(int pairs) {
        if (bits.length < pairs) {
            bits = new int[pairs];
            evenBits = new int[pairs];
            unpacked = new float[pairs];
            sumEven = new float[pairs];
            sumOdd = new float[pairs];
            ByteBuffer bridge = ByteBuffer.allocateDirect(4 * pairs).order(ByteOrder.nativeOrder());
            asInts = bridge.asIntBuffer();
            asFloats = bridge.asFloatBuffer();
        }
    }

    @Override
    public void add(int[] row, int pairs, float[] even, float[] odd) {
        unpackEven(row, pairs);
        add(unpacked, even, pairs);
        unpackOdd(row, pairs);
        add(unpacked, odd, pairs);
    }

    @Override
    public void fma(int[] row, float weight, int pairs, float[] even, float[] odd) {
        unpackEven(row, pairs);
        fma(unpacked, weight, even, pairs);
        unpackOdd(row, pairs);
        fma(unpacked, weight, odd, pairs);
    }

    @Override
    public void add(int[] first, int[] second, int pairs, float[] even, float[] odd) {
        add(first, pairs, even, odd);
        add(second, pairs, even, odd);
    }

    @Override
    public void fma(
            int[] first, float firstWeight, int[] second, float secondWeight, int pairs, float[] even, float[] odd) {
        fma(first, firstWeight, pairs, even, odd);
        fma(second, secondWeight, pairs, even, odd);
    }

    @Override
    public void roundSum(int[] first, int[] second, int pairs, int[] row) {
        room(pairs);
        Arrays.fill(sumEven, 0f);
        Arrays.fill(sumOdd, 0f);
        add(first, second, pairs, sumEven, sumOdd);
        round(sumEven, sumOdd, pairs, row);
    }

    private void unpackEven(int[] row, int pairs) {
        room(pairs);
        shiftUp(row, bits, pairs);
        asInts.put(0, bits, 0, pairs);
        asFloats.get(0, unpacked, 0, pairs);
    }

    private void unpackOdd(int[] row, int pairs) {
        room(pairs);
        maskUpper(row, bits, pairs);
        asInts.put(0, bits, 0, pairs);
        asFloats.get(0, unpacked, 0, pairs);
    }

    @Override
    public void round(float[] even, float[] odd, int pairs, int[] row) {
        room(pairs);
        asFloats.put(0, even, 0, pairs);
        asInts.get(0, evenBits, 0, pairs);
        asFloats.put(0, odd, 0, pairs);
        asInts.get(0, bits, 0, pairs);
        round(evenBits, pairs);
        round(bits, pairs);
        pack(evenBits, bits, row, pairs);
    }

    @Override
    public void encode(int[] row, float[] scales, int blockPairs, int[] codes) {
        for (int i = 0; i < row.length; i++) {
            float scale = scales[i / blockPairs];
            codes[i] = encode(row[i] << 16, scale) | encode(row[i] & 0xffff0000, scale) << 8;
        }
    }

    /** The product keeps the value's sign also where it is a NaN, whose sign processors choose differently. */
    static int encode(int valueBits, float scale) {
        return (encode(Float.intBitsToFloat(valueBits) * scale) & 0x7f) | ((valueBits >>> 24) & 0x80);
    }

    /** Rounds to nearest even, saturates at the largest finite value, keeps NaN. */
    static int encode(float value) {
        int bits = Float.floatToRawIntBits(value);
        int sign = (bits >>> 24) & 0x80;
        int magnitude = bits & 0x7fffffff;
        if (magnitude > INFINITY) {
            return sign | 0x7f;
        }
        int clamped = Math.min(magnitude, E4m3.MAX_BITS);
        if (clamped < E4m3.SMALLEST_NORMAL_BITS) {
            float sum = Float.intBitsToFloat(clamped) + E4m3.SUBNORMAL_MAGIC;
            return sign | (Float.floatToRawIntBits(sum) - E4m3.SUBNORMAL_MAGIC_BITS);
        }
        return sign | (((clamped + 0x7ffff + ((clamped >>> 20) & 1)) >>> 20) - E4m3.REBIAS);
    }

    private static void shiftUp(int[] from, int[] to, int n) {
        for (int i = 0; i < n; i++) {
            to[i] = from[i] << 16;
        }
    }

    private static void maskUpper(int[] from, int[] to, int n) {
        for (int i = 0; i < n; i++) {
            to[i] = from[i] & 0xffff0000;
        }
    }

    private static void add(float[] from, float[] to, int n) {
        for (int i = 0; i < n; i++) {
            to[i] += from[i];
        }
    }

    private static void fma(float[] from, float weight, float[] to, int n) {
        for (int i = 0; i < n; i++) {
            to[i] = Math.fma(weight, from[i], to[i]);
        }
    }

    private static void round(int[] values, int n) {
        for (int i = 0; i < n; i++) {
            int x = values[i];
            int nan = (INFINITY - (x & 0x7fffffff)) >> 31;
            int rounded = x + 0x7fff + ((x >>> 16) & 1);
            values[i] = (rounded & ~nan) | (NAN & nan);
        }
    }

    private static void pack(int[] low, int[] high, int[] to, int n) {
        for (int i = 0; i < n; i++) {
            to[i] = (low[i] >>> 16) | (high[i] & 0xffff0000);
        }
    }
}
