package org.ep4j.engine.numeric;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;

/**
 * Loops that any JVM runs. One thread at a time.
 *
 * <p>Written as short loops over heap arrays, each with one kind of operation, because that is what the compiler of JDK 17
 * vectorises by itself: bits change between int and float by a copy through a small direct buffer, not element by element.
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

    @Override
    public String name() {
        return "plain";
    }

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
    public void add(int[] row, float[] even, float[] odd) {
        unpackEven(row);
        add(unpacked, even, row.length);
        unpackOdd(row);
        add(unpacked, odd, row.length);
    }

    @Override
    public void fma(int[] row, float weight, float[] even, float[] odd) {
        unpackEven(row);
        fma(unpacked, weight, even, row.length);
        unpackOdd(row);
        fma(unpacked, weight, odd, row.length);
    }

    @Override
    public void add(int[] first, int[] second, float[] even, float[] odd) {
        add(first, even, odd);
        add(second, even, odd);
    }

    @Override
    public void fma(int[] first, float firstWeight, int[] second, float secondWeight, float[] even, float[] odd) {
        fma(first, firstWeight, even, odd);
        fma(second, secondWeight, even, odd);
    }

    @Override
    public void roundSum(int[] first, int[] second, int[] row) {
        room(row.length);
        Arrays.fill(sumEven, 0f);
        Arrays.fill(sumOdd, 0f);
        add(first, second, sumEven, sumOdd);
        round(sumEven, sumOdd, row);
    }

    private void unpackEven(int[] row) {
        room(row.length);
        shiftUp(row, bits, row.length);
        asInts.put(0, bits, 0, row.length);
        asFloats.get(0, unpacked, 0, row.length);
    }

    private void unpackOdd(int[] row) {
        room(row.length);
        maskUpper(row, bits, row.length);
        asInts.put(0, bits, 0, row.length);
        asFloats.get(0, unpacked, 0, row.length);
    }

    @Override
    public void round(float[] even, float[] odd, int[] row) {
        room(row.length);
        asFloats.put(0, even, 0, row.length);
        asInts.get(0, evenBits, 0, row.length);
        asFloats.put(0, odd, 0, row.length);
        asInts.get(0, bits, 0, row.length);
        round(evenBits, row.length);
        round(bits, row.length);
        pack(evenBits, bits, row, row.length);
    }

    @Override
    public void encode(int[] row, float[] scales, int blockPairs, int[] codes) {
        for (int i = 0; i < row.length; i++) {
            float scale = scales[i / blockPairs];
            codes[i] = encode(Float.intBitsToFloat(row[i] << 16) * scale)
                    | encode(Float.intBitsToFloat(row[i] & 0xffff0000) * scale) << 8;
        }
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
            values[i] = (rounded & ~nan) | ((x | 0x00400000) & nan);
        }
    }

    private static void pack(int[] low, int[] high, int[] to, int n) {
        for (int i = 0; i < n; i++) {
            to[i] = (low[i] >>> 16) | (high[i] & 0xffff0000);
        }
    }
}
