package org.ep4j.tck.oracle;

import java.util.Arrays;
import java.util.function.IntFunction;
import org.ep4j.DataType;

/** Compares values bit by bit, and names the first difference. */
final class Compare {
    private Compare() {}

    static void shorts(String what, short[] seen, short[] expected, IntFunction<String> place) {
        int at = Arrays.mismatch(seen, expected);
        if (at >= 0) {
            throw new AssertionError(String.format(
                    "%s%s is 0x%04x (%s), must be 0x%04x (%s)",
                    what,
                    place.apply(at),
                    seen[at] & 0xffff,
                    DataType.fromBf16(seen[at]),
                    expected[at] & 0xffff,
                    DataType.fromBf16(expected[at])));
        }
    }

    static void bytes(String what, byte[] seen, byte[] expected, IntFunction<String> place) {
        int at = Arrays.mismatch(seen, expected);
        if (at >= 0) {
            throw new AssertionError(String.format(
                    "%s%s is 0x%02x, must be 0x%02x", what, place.apply(at), seen[at] & 0xff, expected[at] & 0xff));
        }
    }

    static void ints(String what, int[] seen, int[] expected) {
        longs(
                what,
                Arrays.stream(seen).asLongStream().toArray(),
                Arrays.stream(expected).asLongStream().toArray());
    }

    static void longs(String what, long[] seen, long[] expected) {
        if (seen.length != expected.length) {
            throw new AssertionError(what + " has " + seen.length + " elements, must have " + expected.length);
        }
        int at = Arrays.mismatch(seen, expected);
        if (at >= 0) {
            throw new AssertionError(what + "[" + at + "] is " + seen[at] + ", must be " + expected[at]);
        }
    }

    static void equal(String what, Object seen, Object expected) {
        if (!seen.equals(expected)) {
            throw new AssertionError(what + " is " + seen + ", must be " + expected);
        }
    }

    static void floatBits(String what, float seen, float expected) {
        if (Float.floatToRawIntBits(seen) != Float.floatToRawIntBits(expected)) {
            throw new AssertionError(what + " is " + seen + ", must be " + expected);
        }
    }
}
