package org.ep4j.tck.oracle;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class E4m3Test {
    @Test
    void everyCodeComesBackFromItsValue() {
        for (int code = 0; code < 256; code++) {
            byte expected = (byte) code;
            assertThat(E4m3.fromFloat(toFloat(expected)))
                    .as("code 0x%02x", code)
                    .isEqualTo((code & 0x7f) == 0x7f ? (byte) 0x7f : expected);
        }
    }

    @Test
    void knownValues() {
        assertThat(toFloat((byte) 0x7e)).isEqualTo(448f);
        assertThat(toFloat((byte) 0x01)).isEqualTo(0x1p-9f);
        assertThat(toFloat((byte) 0x08)).isEqualTo(0x1p-6f);
        assertThat(toFloat((byte) 0x38)).isEqualTo(1f);
        assertThat(toFloat((byte) 0xff)).isNaN();
        assertThat(E4m3.fromFloat(-0f)).isEqualTo((byte) 0x80);
        assertThat(E4m3.fromFloat(Float.intBitsToFloat(0xffc00000))).isEqualTo((byte) 0xff);
    }

    @Test
    void magnitudesAbove448Become448() {
        for (float value : new float[] {449f, 464f, 480f, 1e30f, Float.POSITIVE_INFINITY}) {
            assertThat(E4m3.fromFloat(value)).isEqualTo((byte) 0x7e);
            assertThat(E4m3.fromFloat(-value)).isEqualTo((byte) 0xfe);
        }
    }

    @Test
    void halfwayBetweenTwoCodesGoesToTheEvenOne() {
        for (int code = 0; code < 0x7e; code++) {
            float low = toFloat((byte) code);
            float high = toFloat((byte) (code + 1));
            float middle = (low + high) / 2;
            assertThat(E4m3.fromFloat(middle))
                    .as("middle of %s and %s", low, high)
                    .isEqualTo((byte) ((code & 1) == 0 ? code : code + 1));
            assertThat(E4m3.fromFloat(Math.nextDown(middle))).isEqualTo((byte) code);
            assertThat(E4m3.fromFloat(Math.nextUp(middle))).isEqualTo((byte) (code + 1));
        }
    }

    @Property(tries = 2000)
    void noOtherCodeIsNearer(@ForAll int bits) {
        float value = Float.intBitsToFloat(bits);
        if (Float.isNaN(value) || Math.abs(value) > 448) {
            return;
        }
        double error = Math.abs((double) toFloat(E4m3.fromFloat(value)) - value);
        for (int code = 0; code < 256; code++) {
            float other = toFloat((byte) code);
            assertThat(Float.isNaN(other) || Math.abs((double) other - value) >= error)
                    .isTrue();
        }
    }

    /** The value of a code; exact. */
    private static float toFloat(byte code) {
        int magnitude = code & 0x7f;
        if (magnitude == 0x7f) {
            return Float.NaN;
        }
        int exponent = magnitude >>> 3;
        int mantissa = magnitude & 7;
        float value = exponent == 0 ? Math.scalb((float) mantissa, -9) : Math.scalb(8f + mantissa, exponent - 7 - 3);
        return code < 0 ? -value : value;
    }
}
