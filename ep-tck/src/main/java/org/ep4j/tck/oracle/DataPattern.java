package org.ep4j.tck.oracle;

/** Patterns of the BF16 values of a {@link Workload}. Every pattern is a function of seed, rank, token and channel. */
public enum DataPattern {
    /** Random signs and mantissas, magnitudes from 2^-8 to 2^8. */
    PLAIN {
        @Override
        short value(int bits) {
            return (short) ((bits & 0x807f) | ((119 + ((bits >>> 7) & 15)) << 7));
        }
    },
    /** All 65536 bit patterns, NaNs, infinities, zeros and subnormals among them: for movement without arithmetic. */
    ANY_BITS {
        @Override
        short value(int bits) {
            return (short) bits;
        }
    },
    /**
     * {@code +-2^24} mixed with values near 1: the large ones cancel, and the rest depends on the order of the FP32
     * additions.
     */
    CANCELLING {
        @Override
        short value(int bits) {
            int exponent = (bits & 0x0300) == 0 ? 126 + ((bits >>> 10) & 3) : 127 + 24;
            int mantissa = exponent == 127 + 24 ? 0 : bits & 0x7f;
            return (short) ((bits & 0x8000) | (exponent << 7) | mantissa);
        }
    },
    /** Magnitudes below 1, where LogFMT applies. */
    BELOW_ONE {
        @Override
        short value(int bits) {
            return (short) ((bits & 0x807f) | ((111 + ((bits >>> 7) & 15)) << 7));
        }
    };

    /** Returns a BF16 made of 16 random bits. */
    abstract short value(int bits);

    /** Fills a row from a key. */
    final void fill(long key, short[] out) {
        long word = 0;
        for (int h = 0; h < out.length; h++) {
            if ((h & 3) == 0) {
                word = SplitMix64.hash(key + h);
            }
            out[h] = value((int) (word >>> ((h & 3) * 16)) & 0xffff);
        }
    }
}
