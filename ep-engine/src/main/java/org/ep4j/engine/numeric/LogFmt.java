package org.ep4j.engine.numeric;

import java.util.Arrays;
import org.ep4j.DataType;
import org.ep4j.EpShape;
import org.ep4j.transport.memory.HostMemory;

/**
 * LogFMT-10: magnitudes of a block of {@link EpShape#SCALE_BLOCK} channels on a logarithmic scale between the block's
 * smallest and largest, 9 bits each, and a sign bit. A block is coded when its largest magnitude is below 1 and not all
 * magnitudes are equal; otherwise its BF16 values are sent unchanged. Sender and receiver decide alike from the two magnitudes
 * that precede the row. Formulas and conditions are DeepEP's. One thread at a time.
 *
 * <p>A coded group of 16 channels takes 20 bytes: 16 codes of 9 bits, low bits first, then 16 signs.
 */
public final class LogFmt {
    private static final int GROUP = 16;
    private static final int GROUP_BYTES = 20;

    /** Codes 1 to 511 are values, 0 is zero. */
    private static final int LEVELS = 510;

    /** Magnitudes further below the largest than this are coded as the smallest level (in powers of two). */
    private static final double RANGE = 32;

    private static final double LN2 = Math.log(2);

    private final int hidden;
    private final int blocks;

    /** For rows of {@code hidden} channels. */
    public LogFmt(int hidden) {
        this.hidden = hidden;
        this.blocks = (hidden + EpShape.SCALE_BLOCK - 1) / EpShape.SCALE_BLOCK;
    }

    /** Largest number of bytes that {@link #encode} writes. */
    public int maxBytes() {
        return 2 * hidden;
    }

    private record Scale(boolean coded, double low, double step) {
        /** {@code range}: BF16 bits of the largest magnitude in the low half, of the smallest in the high half. */
        static Scale of(int range) {
            double high = log2(DataType.fromBf16((short) (range & 0x7fff)));
            double low = Math.max(log2(DataType.fromBf16((short) ((range >>> 16) & 0x7fff))), high - RANGE);
            return new Scale(high < 0 && low < high, low, (high - low) / LEVELS);
        }

        /** Shift that makes rounding down of codes round values to the nearer neighbour. */
        double rounding() {
            return 2 - log2((1 + pow2(step)) / 2) / step;
        }
    }

    private static double log2(double value) {
        return StrictMath.log(value) / LN2;
    }

    private static double pow2(double exponent) {
        return StrictMath.exp(exponent * LN2);
    }

    /**
     * Encodes a row.
     *
     * @param row packed BF16 pairs, the even channel low
     * @param ranges gets, for each block, the largest and smallest magnitude
     * @param out gets the blocks one after another
     * @return bytes written
     */
    public int encode(int[] row, int[] ranges, byte[] out) {
        int next = 0;
        for (int b = 0; b < blocks; b++) {
            int from = b * EpShape.SCALE_BLOCK;
            int to = Math.min(hidden, from + EpShape.SCALE_BLOCK);
            int most = 0;
            int least = 0x7fff;
            for (int i = from; i < to; i++) {
                int magnitude = channel(row, i) & 0x7fff;
                most = Math.max(most, magnitude);
                least = Math.min(least, magnitude);
            }
            ranges[b] = most | least << 16;
            Scale scale = Scale.of(ranges[b]);
            next = scale.coded() ? encodeBlock(row, from, to, scale, out, next) : copyBlock(row, from, to, out, next);
        }
        return next;
    }

    private static int channel(int[] row, int i) {
        return (row[i >> 1] >>> ((i & 1) << 4)) & 0xffff;
    }

    private static int copyBlock(int[] row, int from, int to, byte[] out, int start) {
        int next = start;
        for (int i = from; i < to; i++) {
            int value = channel(row, i);
            out[next++] = (byte) value;
            out[next++] = (byte) (value >>> 8);
        }
        return next;
    }

    private static int encodeBlock(int[] row, int from, int to, Scale scale, byte[] out, int start) {
        double rounding = scale.rounding();
        for (int g = from, at = start; g < to; g += GROUP, at += GROUP_BYTES) {
            Arrays.fill(out, at, at + GROUP_BYTES, (byte) 0);
            for (int j = 0; j < GROUP; j++) {
                int value = channel(row, g + j);
                int magnitude = value & 0x7fff;
                int code = 0;
                if (magnitude != 0) {
                    double log = log2(DataType.fromBf16((short) magnitude));
                    double level = log / scale.step() + rounding - scale.low() / scale.step();
                    code = (int) Math.min(LEVELS + 1, Math.max(1, Math.floor(level)));
                }
                int bit = 9 * j;
                int byteAt = at + (bit >> 3);
                int shifted = code << (bit & 7);
                out[byteAt] |= (byte) shifted;
                out[byteAt + 1] |= (byte) (shifted >>> 8);
                out[at + 18 + (j >> 3)] |= (byte) ((value >>> 15) << (j & 7));
            }
        }
        return start + (to - from) / GROUP * GROUP_BYTES;
    }

    /** Bytes of a coded row with the ranges of {@link #encode}. */
    public int bytes(int[] ranges) {
        int bytes = 0;
        for (int b = 0; b < blocks; b++) {
            int channels = Math.min(hidden - b * EpShape.SCALE_BLOCK, EpShape.SCALE_BLOCK);
            bytes += Scale.of(ranges[b]).coded() ? channels / GROUP * GROUP_BYTES : 2 * channels;
        }
        return bytes;
    }

    /** Decodes a row of {@link #encode}; {@code values} gets one value for each channel. */
    public void decode(int[] ranges, byte[] coded, float[] values) {
        int next = 0;
        for (int b = 0; b < blocks; b++) {
            int from = b * EpShape.SCALE_BLOCK;
            int to = Math.min(hidden, from + EpShape.SCALE_BLOCK);
            Scale scale = Scale.of(ranges[b]);
            if (!scale.coded()) {
                for (int i = from; i < to; i++, next += 2) {
                    values[i] = DataType.fromBf16((short) ((coded[next] & 0xff) | coded[next + 1] << 8));
                }
                continue;
            }
            for (int g = from; g < to; g += GROUP, next += GROUP_BYTES) {
                decodeGroup(coded, next, scale, values, g);
            }
        }
    }

    private static void decodeGroup(byte[] coded, int at, Scale scale, float[] values, int first) {
        for (int j = 0; j < GROUP; j++) {
            int bit = 9 * j;
            int byteAt = at + (bit >> 3);
            int code = (((coded[byteAt] & 0xff) | (coded[byteAt + 1] & 0xff) << 8) >>> (bit & 7)) & 0x1ff;
            float magnitude = code == 0 ? 0f : (float) pow2((code - 1) * scale.step() + scale.low());
            boolean negative = (coded[at + 18 + (j >> 3)] >>> (j & 7) & 1) != 0;
            values[first + j] = negative ? -magnitude : magnitude;
        }
    }

    /** Sums decoded rows in FP32, and rounds the sum to BF16 once. One thread at a time. */
    public static final class Sum {
        private final float[] sum;
        private final int[] packed;

        /** Creates a sum of rows of {@code hidden} channels, an even number. */
        public Sum(int hidden) {
            sum = new float[hidden];
            packed = new int[hidden / 2];
        }

        /** Starts a new sum at +0. */
        public void clear() {
            Arrays.fill(sum, 0f);
        }

        public void add(float[] values) {
            for (int i = 0; i < sum.length; i++) {
                sum[i] += values[i];
            }
        }

        /** Adds {@code weight * values} by fused multiply-add. */
        public void add(float[] values, float weight) {
            for (int i = 0; i < sum.length; i++) {
                sum[i] = Math.fma(weight, values[i], sum[i]);
            }
        }

        /** Rounds the sum and writes it as a BF16 row. */
        public void store(HostMemory memory, long offset) {
            for (int i = 0; i < packed.length; i++) {
                packed[i] = (DataType.toBf16(sum[2 * i]) & 0xffff) | DataType.toBf16(sum[2 * i + 1]) << 16;
            }
            memory.putInts(offset, packed, 0, packed.length);
        }
    }
}
