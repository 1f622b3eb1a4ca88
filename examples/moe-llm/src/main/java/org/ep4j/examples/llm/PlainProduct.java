package org.ep4j.examples.llm;

/** Plain loops. */
final class PlainProduct implements Product {
    @Override
    public String name() {
        return "plain loops (java --add-modules jdk.incubator.vector is several times faster)";
    }

    @Override
    public float dot(float[] a, int aStart, float[] b, int bStart, int count) {
        float sum = 0;
        for (int i = 0; i < count; i++) {
            sum = Math.fma(a[aStart + i], b[bStart + i], sum);
        }
        return sum;
    }

    @Override
    public void add(float factor, float[] x, int xStart, float[] out, int outStart, int count) {
        for (int i = 0; i < count; i++) {
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
        for (int row = first; row < end; row++) {
            for (int t = 0; t < tokens; t++) {
                float sum = 0;
                for (int i = 0, w = row * pairs, x = t * pairs; i < pairs; i++, w++, x++) {
                    sum = Math.fma(Float.intBitsToFloat(weights[w] << 16), even[x], sum);
                    sum = Math.fma(Float.intBitsToFloat(weights[w] & 0xffff0000), odd[x], sum);
                }
                out[t * rows + row] = sum;
            }
        }
    }
}
