package org.ep4j.engine.numeric;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;
import org.ep4j.DataType;

/**
 * Loops on vectors. Uses only parts of the incubating API that have not changed since JDK 17, so that one class file serves all.
 * Channels that do not fill a vector are computed one at a time by the formulas of {@link PlainRowKernels}.
 */
final class VectorRowKernels implements RowKernels {
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final int INFINITY = 0x7f800000;
    private static final int UPPER = 0xffff0000;

    VectorRowKernels() {}

    private static FloatVector even(IntVector row) {
        return row.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats();
    }

    private static FloatVector odd(IntVector row) {
        return row.and(UPPER).reinterpretAsFloats();
    }

    @Override
    public void add(int[] row, int pairs, float[] even, float[] odd) {
        int i = 0;
        for (int end = INTS.loopBound(pairs); i < end; i += INTS.length()) {
            IntVector packed = IntVector.fromArray(INTS, row, i);
            FloatVector.fromArray(FLOATS, even, i).add(even(packed)).intoArray(even, i);
            FloatVector.fromArray(FLOATS, odd, i).add(odd(packed)).intoArray(odd, i);
        }
        for (; i < pairs; i++) {
            even[i] += Float.intBitsToFloat(row[i] << 16);
            odd[i] += Float.intBitsToFloat(row[i] & UPPER);
        }
    }

    @Override
    public void fma(int[] row, float weight, int pairs, float[] even, float[] odd) {
        FloatVector factor = FloatVector.broadcast(FLOATS, weight);
        int i = 0;
        for (int end = INTS.loopBound(pairs); i < end; i += INTS.length()) {
            IntVector packed = IntVector.fromArray(INTS, row, i);
            factor.fma(even(packed), FloatVector.fromArray(FLOATS, even, i)).intoArray(even, i);
            factor.fma(odd(packed), FloatVector.fromArray(FLOATS, odd, i)).intoArray(odd, i);
        }
        for (; i < pairs; i++) {
            even[i] = Math.fma(weight, Float.intBitsToFloat(row[i] << 16), even[i]);
            odd[i] = Math.fma(weight, Float.intBitsToFloat(row[i] & UPPER), odd[i]);
        }
    }

    @Override
    public void add(int[] first, int[] second, int pairs, float[] even, float[] odd) {
        int i = 0;
        for (int end = INTS.loopBound(pairs); i < end; i += INTS.length()) {
            IntVector a = IntVector.fromArray(INTS, first, i);
            IntVector b = IntVector.fromArray(INTS, second, i);
            FloatVector.fromArray(FLOATS, even, i).add(even(a)).add(even(b)).intoArray(even, i);
            FloatVector.fromArray(FLOATS, odd, i).add(odd(a)).add(odd(b)).intoArray(odd, i);
        }
        for (; i < pairs; i++) {
            even[i] = (even[i] + Float.intBitsToFloat(first[i] << 16)) + Float.intBitsToFloat(second[i] << 16);
            odd[i] = (odd[i] + Float.intBitsToFloat(first[i] & UPPER)) + Float.intBitsToFloat(second[i] & UPPER);
        }
    }

    @Override
    public void fma(
            int[] first, float firstWeight, int[] second, float secondWeight, int pairs, float[] even, float[] odd) {
        FloatVector v = FloatVector.broadcast(FLOATS, firstWeight);
        FloatVector w = FloatVector.broadcast(FLOATS, secondWeight);
        int i = 0;
        for (int end = INTS.loopBound(pairs); i < end; i += INTS.length()) {
            IntVector a = IntVector.fromArray(INTS, first, i);
            IntVector b = IntVector.fromArray(INTS, second, i);
            w.fma(even(b), v.fma(even(a), FloatVector.fromArray(FLOATS, even, i)))
                    .intoArray(even, i);
            w.fma(odd(b), v.fma(odd(a), FloatVector.fromArray(FLOATS, odd, i))).intoArray(odd, i);
        }
        for (; i < pairs; i++) {
            even[i] = Math.fma(firstWeight, Float.intBitsToFloat(first[i] << 16), even[i]);
            even[i] = Math.fma(secondWeight, Float.intBitsToFloat(second[i] << 16), even[i]);
            odd[i] = Math.fma(firstWeight, Float.intBitsToFloat(first[i] & UPPER), odd[i]);
            odd[i] = Math.fma(secondWeight, Float.intBitsToFloat(second[i] & UPPER), odd[i]);
        }
    }

    @Override
    public void roundSum(int[] first, int[] second, int pairs, int[] row) {
        FloatVector zero = FloatVector.zero(FLOATS);
        int i = 0;
        for (int end = INTS.loopBound(pairs); i < end; i += INTS.length()) {
            IntVector a = IntVector.fromArray(INTS, first, i);
            IntVector b = IntVector.fromArray(INTS, second, i);
            IntVector low = roundBits(zero.add(even(a)).add(even(b))).lanewise(VectorOperators.LSHR, 16);
            IntVector high = roundBits(zero.add(odd(a)).add(odd(b))).and(UPPER);
            low.or(high).intoArray(row, i);
        }
        for (; i < pairs; i++) {
            float low = (0f + Float.intBitsToFloat(first[i] << 16)) + Float.intBitsToFloat(second[i] << 16);
            float high = (0f + Float.intBitsToFloat(first[i] & UPPER)) + Float.intBitsToFloat(second[i] & UPPER);
            row[i] = pack(low, high);
        }
    }

    private static int pack(float low, float high) {
        return (DataType.toBf16(low) & 0xffff) | DataType.toBf16(high) << 16;
    }

    private static IntVector roundBits(FloatVector values) {
        IntVector bits = values.reinterpretAsInts();
        IntVector rounded =
                bits.add(bits.lanewise(VectorOperators.LSHR, 16).and(1)).add(0x7fff);
        VectorMask<Integer> nan = bits.and(0x7fffffff).compare(VectorOperators.GT, INFINITY);
        return rounded.blend(NAN, nan);
    }

    @Override
    public void round(float[] even, float[] odd, int pairs, int[] row) {
        int i = 0;
        for (int end = INTS.loopBound(pairs); i < end; i += INTS.length()) {
            IntVector low = roundBits(FloatVector.fromArray(FLOATS, even, i)).lanewise(VectorOperators.LSHR, 16);
            IntVector high = roundBits(FloatVector.fromArray(FLOATS, odd, i)).and(UPPER);
            low.or(high).intoArray(row, i);
        }
        for (; i < pairs; i++) {
            row[i] = pack(even[i], odd[i]);
        }
    }

    /** The product keeps the value's sign also where it is a NaN, whose sign processors choose differently. */
    private static IntVector encode(FloatVector values, FloatVector scale) {
        IntVector bits = values.mul(scale).reinterpretAsInts();
        IntVector magnitude = bits.and(0x7fffffff);
        VectorMask<Integer> nan = magnitude.compare(VectorOperators.GT, INFINITY);
        IntVector clamped = magnitude.min(E4m3.MAX_BITS);
        IntVector normal = clamped.add(
                        clamped.lanewise(VectorOperators.LSHR, 20).and(1))
                .add(0x7ffff)
                .lanewise(VectorOperators.LSHR, 20)
                .sub(E4m3.REBIAS);
        IntVector subnormal = clamped.reinterpretAsFloats()
                .add(E4m3.SUBNORMAL_MAGIC)
                .reinterpretAsInts()
                .sub(E4m3.SUBNORMAL_MAGIC_BITS);
        VectorMask<Integer> small = clamped.compare(VectorOperators.LT, E4m3.SMALLEST_NORMAL_BITS);
        IntVector sign =
                values.reinterpretAsInts().lanewise(VectorOperators.LSHR, 24).and(0x80);
        return normal.blend(subnormal, small).blend(0x7f, nan).or(sign);
    }

    @Override
    public void encode(int[] row, float[] scales, int blockPairs, int[] codes) {
        for (int b = 0; b < scales.length; b++) {
            int i = b * blockPairs;
            int to = Math.min(row.length, i + blockPairs);
            FloatVector scale = FloatVector.broadcast(FLOATS, scales[b]);
            for (; i + INTS.length() <= to; i += INTS.length()) {
                IntVector packed = IntVector.fromArray(INTS, row, i);
                IntVector low = encode(even(packed), scale);
                IntVector high = encode(odd(packed), scale);
                low.or(high.lanewise(VectorOperators.LSHL, 8)).intoArray(codes, i);
            }
            for (; i < to; i++) {
                codes[i] = PlainRowKernels.encode(row[i] << 16, scales[b])
                        | PlainRowKernels.encode(row[i] & UPPER, scales[b]) << 8;
            }
        }
    }
}
