package org.ep4j.examples.llm;

import java.util.Optional;

/**
 * Products of rows of weights with tokens. Each element of a result is summed in the same order whatever is computed beside
 * it, so that a token's result does not depend on the batch that it is in, nor on the number of ranks.
 */
interface Product {
    /** The module that vectors need; a JVM has it only when it is asked for. */
    String VECTOR_MODULE = "jdk.incubator.vector";

    /**
     * Multiplies some rows of a matrix with all tokens: {@code out[t][row] = sum over i of weights[row][i] * x[t][i]}.
     *
     * @param weights {@code [rows][pairs]}, two BF16 elements in each int, the first in the lower half
     * @param pairs half the columns
     * @param first first row
     * @param end row after the last one
     * @param even {@code [tokens][pairs]}, elements of even index
     * @param odd {@code [tokens][pairs]}, elements of odd index
     * @param out {@code [tokens][rows]}
     * @param rows rows of the whole matrix
     */
    void multiply(
            int[] weights, int pairs, int first, int end, float[] even, float[] odd, int tokens, float[] out, int rows);

    /** Scalar product of {@code count} elements. */
    float dot(float[] a, int aStart, float[] b, int bStart, int count);

    /** {@code out[i] += factor * x[i]}. */
    void add(float factor, float[] x, int xStart, float[] out, int outStart, int count);

    /** Which loops these are. */
    String name();

    /** The loops on vectors where the JVM has the module {@code jdk.incubator.vector}, plain ones otherwise. */
    static Product best() {
        Optional<Module> vector = ModuleLayer.boot().findModule(VECTOR_MODULE);
        if (vector.isEmpty()) {
            return new PlainProduct();
        }
        try {
            return Class.forName(Product.class.getPackageName() + ".VectorProduct")
                    .asSubclass(Product.class)
                    .getDeclaredConstructor()
                    .newInstance();
        } catch (ReflectiveOperationException | LinkageError e) {
            System.getLogger("org.ep4j.examples.llm").log(System.Logger.Level.INFO, "plain loops are used", e);
            return new PlainProduct();
        }
    }
}
