package org.ep4j.examples.llm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Products are right, and do not depend on what is computed beside them. */
@Tag("verify")
final class ProductTest {
    private static final SplittableRandom RANDOM = new SplittableRandom(7);

    private static Matrix matrix(int rows, int columns) {
        return Matrix.of(rows, columns, TensorBytes.RANDOM.bytes("a matrix", rows, columns));
    }

    private static float[] numbers(int count) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = (float) (RANDOM.nextDouble() - 0.5);
        }
        return numbers;
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 30, 64, 202})
    void isTheSumOfProducts(int columns) {
        Matrix matrix = matrix(11, columns);
        float[] x = numbers(7 * columns);
        float[] row = new float[columns];
        try (Compute compute = new Compute(2)) {
            assertThat(compute.product()).isInstanceOf(VectorProduct.class);
            float[] out = compute.multiply(matrix, x, 7);
            for (int t = 0; t < 7; t++) {
                for (int r = 0; r < 11; r++) {
                    matrix.row(r, row, 0);
                    double sum = 0;
                    for (int i = 0; i < columns; i++) {
                        sum += (double) row[i] * x[t * columns + i];
                    }
                    assertThat((double) out[t * 11 + r]).isCloseTo(sum, within(1e-5));
                }
            }
        }
    }

    /** A tile of four tokens, a rest of three, one alone: each token's row is the same to the bit. */
    @ParameterizedTest
    @ValueSource(ints = {30, 256})
    void doesNotDependOnTheBatchOrTheThreads(int columns) {
        Matrix matrix = matrix(1030, columns);
        float[] x = numbers(7 * columns);
        try (Compute two = new Compute(2);
                Compute one = new Compute(1)) {
            float[] together = two.multiply(matrix, x, 7);
            for (int t = 0; t < 7; t++) {
                float[] alone = new float[columns];
                System.arraycopy(x, t * columns, alone, 0, columns);
                float[] row = new float[1030];
                System.arraycopy(together, t * 1030, row, 0, 1030);
                assertThat(one.multiply(matrix, alone, 1)).isEqualTo(row);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 16, 37})
    void vectorsAndPlainLoopsAgree(int count) {
        float[] a = numbers(count + 3);
        float[] b = numbers(count + 5);
        Product vectors = new VectorProduct();
        Product plain = new PlainProduct();
        assertThat(vectors.dot(a, 3, b, 5, count)).isCloseTo(plain.dot(a, 3, b, 5, count), within(1e-5f));
        float[] first = b.clone();
        float[] second = b.clone();
        vectors.add(0.7f, a, 3, first, 5, count);
        plain.add(0.7f, a, 3, second, 5, count);
        assertThat(first).isEqualTo(second);
    }
}
