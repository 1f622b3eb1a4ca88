package org.ep4j.engine.host;

/** Replaces arrays that are too short by longer ones, without copying their contents. */
final class Grow {
    /** Longest array that every JVM allocates. */
    private static final long LONGEST = Integer.MAX_VALUE - 64L;

    private Grow() {}

    static int[] ints(int[] array, int length) {
        return array.length >= length ? array : new int[withReserve(length)];
    }

    static float[] floats(float[] array, int length) {
        return array.length >= length ? array : new float[withReserve(length)];
    }

    /** Adds a reserve, since the number of rows that a rank receives changes a little from call to call. */
    private static int withReserve(int length) {
        return Math.max(length, (int) Math.min(LONGEST, length + (long) (length >> 3)));
    }
}
