package org.ep4j.tck.oracle;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.ep4j.DataType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class LogFmtTest {
    @Test
    void blocksWithMagnitudesFromOneOnMayNotMove() {
        short[] row = new short[256];
        Arrays.fill(row, DataType.toBf16(0.25f));
        row[1] = DataType.toBf16(0.125f);
        row[200] = DataType.toBf16(1f);
        float[] tolerance = new float[256];
        LogFmt.tolerance(row, tolerance);
        assertThat(tolerance[0]).isPositive();
        assertThat(tolerance[128]).isZero();
        assertThat(tolerance[200]).isZero();
    }

    @Test
    void blocksOfEqualMagnitudesMayNotMove() {
        short[] row = new short[128];
        Arrays.fill(row, DataType.toBf16(-0.25f));
        float[] tolerance = new float[128];
        LogFmt.tolerance(row, tolerance);
        assertThat(tolerance).containsOnly(0f);
    }

    @Test
    void theStepIsThatOf510LevelsBetweenSmallestAndLargest() {
        short[] row = new short[128];
        Arrays.fill(row, DataType.toBf16(0.5f));
        row[7] = DataType.toBf16(0.5f * 0x1p-8f);
        float[] tolerance = new float[128];
        LogFmt.tolerance(row, tolerance);
        double halfStep = (Math.pow(2, 8.0 / 510) - 1) / 2;
        assertThat((double) tolerance[0]).isBetween(0.5 * halfStep, 0.5 * (halfStep + 0.005));
        assertThat((double) tolerance[7]).isLessThan(0.5 * 0x1p-8 * (halfStep + 0.005));
    }

    @Test
    void valuesBelowTheRangeMayMoveByTheSmallestLevel() {
        short[] row = new short[128];
        Arrays.fill(row, DataType.toBf16(0.5f));
        row[7] = 0;
        float[] tolerance = new float[128];
        LogFmt.tolerance(row, tolerance);
        assertThat((double) tolerance[7]).isEqualTo(0x1p-33);
    }
}
