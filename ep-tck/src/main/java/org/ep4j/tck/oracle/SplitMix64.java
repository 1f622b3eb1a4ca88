package org.ep4j.tck.oracle;

/** The SplitMix64 generator, and its finaliser as a stateless 64-bit hash. */
final class SplitMix64 {
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    private long state;

    SplitMix64(long seed) {
        this.state = seed;
    }

    static long hash(long value) {
        long z = value + GOLDEN;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    static long hash(long a, long b, long c, long d) {
        return hash(hash(hash(hash(a) ^ b) ^ c) ^ d);
    }

    long nextLong() {
        state += GOLDEN;
        return hash(state);
    }

    /** Returns a number that is uniform in [0, bound). */
    int nextInt(int bound) {
        return (int) (((nextLong() >>> 32) * bound) >>> 32);
    }

    /** Returns a number that is uniform in [0, 1). */
    double nextDouble() {
        return (nextLong() >>> 11) * 0x1p-53;
    }
}
