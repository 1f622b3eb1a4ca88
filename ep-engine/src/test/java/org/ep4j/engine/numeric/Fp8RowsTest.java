package org.ep4j.engine.numeric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.ep4j.DataType;
import org.ep4j.engine.rows.Rows;
import org.ep4j.engine.rows.RowsForTests;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class Fp8RowsTest {
    private static final int HIDDEN = 208;
    private static final Rows JAVA = RowsForTests.java();

    private static float[] scales(Fp8Rows rows) {
        return new float[] {rows.scales().getFloat(0), rows.scales().getFloat(4)};
    }

    private static HostMemory row(float[] values) {
        HostMemory memory =
                HostMemory.of(new HostDevice().allocate(2L * values.length).memory());
        for (int i = 0; i < values.length; i += 2) {
            memory.putInt(2L * i, (DataType.toBf16(values[i]) & 0xffff) | DataType.toBf16(values[i + 1]) << 16);
        }
        return memory;
    }

    private static HostMemory cast(Fp8Rows rows, HostMemory row, boolean powerOfTwo) {
        HostMemory codes = HostMemory.of(new HostDevice().allocate(HIDDEN).memory());
        rows.cast(row, 0, codes, 0, powerOfTwo);
        return codes;
    }

    @Test
    void scalesAreTheLargestMagnitudeOverTheLargestCode() {
        float[] values = new float[HIDDEN];
        Random random = new Random(5);
        for (int i = 0; i < HIDDEN; i++) {
            values[i] = DataType.fromBf16(DataType.toBf16((float) random.nextGaussian()));
        }
        values[7] = -30f;
        values[150] = 6f;
        values[3] = Float.NaN;
        Fp8Rows rows = new Fp8Rows(HIDDEN, JAVA);
        HostMemory codes = cast(rows, row(values), false);
        assertThat(scales(rows)).containsExactly(30f / 448f, 6f / 448f);
        assertThat(codes.getByte(7)).isEqualTo((byte) 0xfe);
        assertThat(codes.getByte(150)).isEqualTo((byte) 0x7e);
        assertThat(codes.getByte(3) & 0x7f).isEqualTo(0x7f);
    }

    @Test
    void powersOfTwoAreRoundedUp() {
        float[] values = new float[HIDDEN];
        values[0] = 450f;
        values[128] = 448f * 0.25f;
        Fp8Rows rows = new Fp8Rows(HIDDEN, JAVA);
        cast(rows, row(values), true);
        assertThat(scales(rows)).containsExactly(2f, 0.25f);
    }

    @Test
    void aRowOfZerosHasAFiniteScale() {
        Fp8Rows rows = new Fp8Rows(HIDDEN, JAVA);
        HostMemory memory = cast(rows, row(new float[HIDDEN]), false);
        assertThat(scales(rows)).containsExactly(1e-4f / 448f, 1e-4f / 448f);
        byte[] codes = new byte[HIDDEN];
        memory.getBytes(0, codes, 0, HIDDEN);
        assertThat(codes).containsOnly(0);
    }
}
