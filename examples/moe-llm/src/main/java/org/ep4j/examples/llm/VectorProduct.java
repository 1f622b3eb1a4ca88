package org.ep4j.examples.llm;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Loops on vectors. A tile of four rows and four tokens (or one token) keeps its sums in registers, so that weights are read
 * once for four tokens. Compiled apart from the rest, since javac warns of the incubating module.
 */
final class VectorProduct implements Product {
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final int LANES = INTS.length();
    private static final int UPPER = 0xffff0000;
    private static final int TILE = 4;

    VectorProduct() {}

    @Override
    public String name() {
        return "vectors of " + INTS.vectorBitSize() + " bits";
    }

    private static FloatVector even(IntVector weights) {
        return weights.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats();
    }

    private static FloatVector odd(IntVector weights) {
        return weights.and(UPPER).reinterpretAsFloats();
    }

    @Override
    public float dot(float[] a, int aStart, float[] b, int bStart, int count) {
        FloatVector sums = FloatVector.zero(FLOATS);
        int i = 0;
        for (int whole = FLOATS.loopBound(count); i < whole; i += LANES) {
            sums = FloatVector.fromArray(FLOATS, a, aStart + i).fma(FloatVector.fromArray(FLOATS, b, bStart + i), sums);
        }
        float sum = sum(sums, new float[LANES]);
        for (; i < count; i++) {
            sum = Math.fma(a[aStart + i], b[bStart + i], sum);
        }
        return sum;
    }

    @Override
    public void add(float factor, float[] x, int xStart, float[] out, int outStart, int count) {
        FloatVector factors = FloatVector.broadcast(FLOATS, factor);
        int i = 0;
        for (int whole = FLOATS.loopBound(count); i < whole; i += LANES) {
            FloatVector.fromArray(FLOATS, x, xStart + i)
                    .fma(factors, FloatVector.fromArray(FLOATS, out, outStart + i))
                    .intoArray(out, outStart + i);
        }
        for (; i < count; i++) {
            out[outStart + i] = Math.fma(factor, x[xStart + i], out[outStart + i]);
        }
    }

    @Override
    public void multiply(
            int[] weights,
            int pairs,
            int first,
            int end,
            float[] even,
            float[] odd,
            int tokens,
            float[] out,
            int rows) {
        float[] lanes = new float[LANES];
        int row = first;
        for (; row + TILE <= end; row += TILE) {
            int t = 0;
            for (; t + TILE <= tokens; t += TILE) {
                tile(weights, pairs, row, even, odd, t, out, rows, lanes);
            }
            for (; t < tokens; t++) {
                column(weights, pairs, row, even, odd, t, out, rows, lanes);
            }
        }
        for (; row < end; row++) {
            for (int t = 0; t < tokens; t++) {
                element(weights, pairs, row, even, odd, t, out, rows, lanes);
            }
        }
    }

    /** Four rows, four tokens. */
    private static void tile(
            int[] weights,
            int pairs,
            int row,
            float[] even,
            float[] odd,
            int token,
            float[] out,
            int rows,
            float[] lanes) {
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector s00 = zero, s01 = zero, s02 = zero, s03 = zero;
        FloatVector s10 = zero, s11 = zero, s12 = zero, s13 = zero;
        FloatVector s20 = zero, s21 = zero, s22 = zero, s23 = zero;
        FloatVector s30 = zero, s31 = zero, s32 = zero, s33 = zero;
        int w0 = row * pairs, w1 = w0 + pairs, w2 = w1 + pairs, w3 = w2 + pairs;
        int x0 = token * pairs, x1 = x0 + pairs, x2 = x1 + pairs, x3 = x2 + pairs;
        for (int i = 0, whole = INTS.loopBound(pairs); i < whole; i += LANES) {
            IntVector a = IntVector.fromArray(INTS, weights, w0 + i);
            IntVector b = IntVector.fromArray(INTS, weights, w1 + i);
            IntVector c = IntVector.fromArray(INTS, weights, w2 + i);
            IntVector d = IntVector.fromArray(INTS, weights, w3 + i);
            FloatVector ae = even(a), be = even(b), ce = even(c), de = even(d);
            FloatVector x = FloatVector.fromArray(FLOATS, even, x0 + i);
            s00 = ae.fma(x, s00);
            s10 = be.fma(x, s10);
            s20 = ce.fma(x, s20);
            s30 = de.fma(x, s30);
            x = FloatVector.fromArray(FLOATS, even, x1 + i);
            s01 = ae.fma(x, s01);
            s11 = be.fma(x, s11);
            s21 = ce.fma(x, s21);
            s31 = de.fma(x, s31);
            x = FloatVector.fromArray(FLOATS, even, x2 + i);
            s02 = ae.fma(x, s02);
            s12 = be.fma(x, s12);
            s22 = ce.fma(x, s22);
            s32 = de.fma(x, s32);
            x = FloatVector.fromArray(FLOATS, even, x3 + i);
            s03 = ae.fma(x, s03);
            s13 = be.fma(x, s13);
            s23 = ce.fma(x, s23);
            s33 = de.fma(x, s33);
            FloatVector ao = odd(a), bo = odd(b), co = odd(c), dO = odd(d);
            x = FloatVector.fromArray(FLOATS, odd, x0 + i);
            s00 = ao.fma(x, s00);
            s10 = bo.fma(x, s10);
            s20 = co.fma(x, s20);
            s30 = dO.fma(x, s30);
            x = FloatVector.fromArray(FLOATS, odd, x1 + i);
            s01 = ao.fma(x, s01);
            s11 = bo.fma(x, s11);
            s21 = co.fma(x, s21);
            s31 = dO.fma(x, s31);
            x = FloatVector.fromArray(FLOATS, odd, x2 + i);
            s02 = ao.fma(x, s02);
            s12 = bo.fma(x, s12);
            s22 = co.fma(x, s22);
            s32 = dO.fma(x, s32);
            x = FloatVector.fromArray(FLOATS, odd, x3 + i);
            s03 = ao.fma(x, s03);
            s13 = bo.fma(x, s13);
            s23 = co.fma(x, s23);
            s33 = dO.fma(x, s33);
        }
        int o0 = token * rows + row, o1 = o0 + rows, o2 = o1 + rows, o3 = o2 + rows;
        out[o0] = sum(s00, lanes, weights, pairs, row, even, odd, token);
        out[o0 + 1] = sum(s10, lanes, weights, pairs, row + 1, even, odd, token);
        out[o0 + 2] = sum(s20, lanes, weights, pairs, row + 2, even, odd, token);
        out[o0 + 3] = sum(s30, lanes, weights, pairs, row + 3, even, odd, token);
        out[o1] = sum(s01, lanes, weights, pairs, row, even, odd, token + 1);
        out[o1 + 1] = sum(s11, lanes, weights, pairs, row + 1, even, odd, token + 1);
        out[o1 + 2] = sum(s21, lanes, weights, pairs, row + 2, even, odd, token + 1);
        out[o1 + 3] = sum(s31, lanes, weights, pairs, row + 3, even, odd, token + 1);
        out[o2] = sum(s02, lanes, weights, pairs, row, even, odd, token + 2);
        out[o2 + 1] = sum(s12, lanes, weights, pairs, row + 1, even, odd, token + 2);
        out[o2 + 2] = sum(s22, lanes, weights, pairs, row + 2, even, odd, token + 2);
        out[o2 + 3] = sum(s32, lanes, weights, pairs, row + 3, even, odd, token + 2);
        out[o3] = sum(s03, lanes, weights, pairs, row, even, odd, token + 3);
        out[o3 + 1] = sum(s13, lanes, weights, pairs, row + 1, even, odd, token + 3);
        out[o3 + 2] = sum(s23, lanes, weights, pairs, row + 2, even, odd, token + 3);
        out[o3 + 3] = sum(s33, lanes, weights, pairs, row + 3, even, odd, token + 3);
    }

    /** Four rows, one token. */
    private static void column(
            int[] weights,
            int pairs,
            int row,
            float[] even,
            float[] odd,
            int token,
            float[] out,
            int rows,
            float[] lanes) {
        FloatVector s0 = FloatVector.zero(FLOATS), s1 = s0, s2 = s0, s3 = s0;
        int w0 = row * pairs, w1 = w0 + pairs, w2 = w1 + pairs, w3 = w2 + pairs;
        int x = token * pairs;
        for (int i = 0, whole = INTS.loopBound(pairs); i < whole; i += LANES) {
            IntVector a = IntVector.fromArray(INTS, weights, w0 + i);
            IntVector b = IntVector.fromArray(INTS, weights, w1 + i);
            IntVector c = IntVector.fromArray(INTS, weights, w2 + i);
            IntVector d = IntVector.fromArray(INTS, weights, w3 + i);
            FloatVector xe = FloatVector.fromArray(FLOATS, even, x + i);
            FloatVector xo = FloatVector.fromArray(FLOATS, odd, x + i);
            s0 = odd(a).fma(xo, even(a).fma(xe, s0));
            s1 = odd(b).fma(xo, even(b).fma(xe, s1));
            s2 = odd(c).fma(xo, even(c).fma(xe, s2));
            s3 = odd(d).fma(xo, even(d).fma(xe, s3));
        }
        int o = token * rows + row;
        out[o] = sum(s0, lanes, weights, pairs, row, even, odd, token);
        out[o + 1] = sum(s1, lanes, weights, pairs, row + 1, even, odd, token);
        out[o + 2] = sum(s2, lanes, weights, pairs, row + 2, even, odd, token);
        out[o + 3] = sum(s3, lanes, weights, pairs, row + 3, even, odd, token);
    }

    private static void element(
            int[] weights,
            int pairs,
            int row,
            float[] even,
            float[] odd,
            int token,
            float[] out,
            int rows,
            float[] lanes) {
        FloatVector s = FloatVector.zero(FLOATS);
        int w = row * pairs, x = token * pairs;
        for (int i = 0, whole = INTS.loopBound(pairs); i < whole; i += LANES) {
            IntVector a = IntVector.fromArray(INTS, weights, w + i);
            s = even(a).fma(FloatVector.fromArray(FLOATS, even, x + i), s);
            s = odd(a).fma(FloatVector.fromArray(FLOATS, odd, x + i), s);
        }
        out[token * rows + row] = sum(s, lanes, weights, pairs, row, even, odd, token);
    }

    /** Adds up the lanes, in a fixed order: the order of reduceLanes may differ from one run of a loop to the next. */
    private static float sum(FloatVector sums, float[] lanes) {
        sums.intoArray(lanes, 0);
        for (int half = LANES / 2; half > 0; half /= 2) {
            for (int i = 0; i < half; i++) {
                lanes[i] += lanes[i + half];
            }
        }
        return lanes[0];
    }

    /** The lanes, and what did not fill a vector. */
    private static float sum(
            FloatVector s, float[] lanes, int[] weights, int pairs, int row, float[] even, float[] odd, int token) {
        float sum = sum(s, lanes);
        for (int i = INTS.loopBound(pairs), w = row * pairs + i, x = token * pairs + i; i < pairs; i++, w++, x++) {
            sum = Math.fma(Float.intBitsToFloat(weights[w] << 16), even[x], sum);
            sum = Math.fma(Float.intBitsToFloat(weights[w] & UPPER), odd[x], sum);
        }
        return sum;
    }
}
