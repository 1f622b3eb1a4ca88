package org.ep4j.engine.numeric;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;
import org.ep4j.engine.memory.HostMemory;

/**
 * Sums BF16 rows in FP32 and rounds the sum to BF16 once. One thread at a time.
 *
 * <p>Written as short loops over heap arrays, each with one kind of operation, because that is what the compiler of JDK 17
 * vectorises: even and odd elements are kept apart so that unpacking is a shift and a mask, and bits change between int
 * and float by a copy through a small direct buffer, not element by element.
 */
public final class RowSum {
    private final int pairs;
    private final int[] packed;
    private final int[] bits;
    private final float[] unpacked;
    private final float[] even;
    private final float[] odd;
    private final int[] evenBits;
    private final IntBuffer asInts;
    private final FloatBuffer asFloats;
    private boolean empty = true;

    /** For rows of {@code hidden} elements, an even number. */
    public RowSum(int hidden) {
        pairs = hidden / 2;
        packed = new int[pairs];
        bits = new int[pairs];
        unpacked = new float[pairs];
        even = new float[pairs];
        odd = new float[pairs];
        evenBits = new int[pairs];
        ByteBuffer bridge = ByteBuffer.allocateDirect(4 * pairs).order(ByteOrder.nativeOrder());
        asInts = bridge.asIntBuffer();
        asFloats = bridge.asFloatBuffer();
    }

    /** Starts a new sum at +0. */
    public void clear() {
        empty = true;
    }

    /** Adds the BF16 row at {@code offset}. */
    public void add(HostMemory memory, long offset) {
        memory.getInts(offset, packed, 0, pairs);
        addPacked();
    }

    /** Adds {@code weight * row} by fused multiply-add. */
    public void add(HostMemory memory, long offset, float weight) {
        memory.getInts(offset, packed, 0, pairs);
        addPacked(weight);
    }

    /** Adds {@code weight * values} by fused multiply-add, one value a channel. */
    public void add(float[] values, float weight) {
        startFromZero();
        for (int i = 0; i < pairs; i++) {
            even[i] = Math.fma(weight, values[2 * i], even[i]);
            odd[i] = Math.fma(weight, values[2 * i + 1], odd[i]);
        }
    }

    /** Adds {@code values}, one a channel. */
    public void add(float[] values) {
        startFromZero();
        for (int i = 0; i < pairs; i++) {
            even[i] += values[2 * i];
            odd[i] += values[2 * i + 1];
        }
    }

    private void addPacked() {
        unpackEven();
        if (empty) {
            fromZero(unpacked, even, pairs);
        } else {
            add(unpacked, even, pairs);
        }
        unpackOdd();
        if (empty) {
            fromZero(unpacked, odd, pairs);
        } else {
            add(unpacked, odd, pairs);
        }
        empty = false;
    }

    private void addPacked(float weight) {
        startFromZero();
        unpackEven();
        fma(unpacked, weight, even, pairs);
        unpackOdd();
        fma(unpacked, weight, odd, pairs);
    }

    private void startFromZero() {
        if (empty) {
            Arrays.fill(even, 0f);
            Arrays.fill(odd, 0f);
            empty = false;
        }
    }

    private void unpackEven() {
        shiftUp(packed, bits, pairs);
        asInts.put(0, bits, 0, pairs);
        asFloats.get(0, unpacked, 0, pairs);
    }

    private void unpackOdd() {
        maskUpper(packed, bits, pairs);
        asInts.put(0, bits, 0, pairs);
        asFloats.get(0, unpacked, 0, pairs);
    }

    /** Rounds the sum into packed pairs, the even channel low. */
    public void store(int[] row) {
        storePacked();
        System.arraycopy(packed, 0, row, 0, pairs);
    }

    /** Rounds the sum and writes it as a BF16 row; a sum of nothing is a row of zeros. */
    public void store(HostMemory memory, long offset) {
        storePacked();
        memory.putInts(offset, packed, 0, pairs);
    }

    private void storePacked() {
        if (empty) {
            Arrays.fill(packed, 0);
            return;
        }
        asFloats.put(0, even, 0, pairs);
        asInts.get(0, evenBits, 0, pairs);
        asFloats.put(0, odd, 0, pairs);
        asInts.get(0, bits, 0, pairs);
        round(evenBits, pairs);
        round(bits, pairs);
        pack(evenBits, bits, packed, pairs);
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

    /** {@code +0 + x}, which turns -0 into +0 as a sum from zero does. */
    private static void fromZero(float[] from, float[] to, int n) {
        for (int i = 0; i < n; i++) {
            to[i] = 0f + from[i];
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
            int nan = (0x7f800000 - (x & 0x7fffffff)) >> 31;
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
