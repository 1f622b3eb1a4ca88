package org.ep4j.engine.numeric;

import java.lang.reflect.InvocationTargetException;
import java.util.Optional;

/**
 * Loops over a piece of a row. Rows are packed: two BF16 in an int, the even channel low; sums keep even and odd channels
 * apart. {@code pairs} is the number of ints. All implementations give the same bits. Safe for use from several threads.
 */
interface RowKernels {
    /** Bits of the binary32 whose upper half is what {@link org.ep4j.DataType#toBf16} makes of every NaN. */
    int NAN = 0x7fff0000;

    /** {@code even, odd += row}. */
    void add(int[] row, int pairs, float[] even, float[] odd);

    /** {@code even, odd = (even, odd + first) + second}. */
    void add(int[] first, int[] second, int pairs, float[] even, float[] odd);

    /** {@code even, odd = fma(weight, row, even, odd)}. */
    void fma(int[] row, float weight, int pairs, float[] even, float[] odd);

    /** {@code even, odd = fma(secondWeight, second, fma(firstWeight, first, even, odd))}. */
    void fma(int[] first, float firstWeight, int[] second, float secondWeight, int pairs, float[] even, float[] odd);

    /** Rounds a sum to BF16 and packs it. */
    void round(float[] even, float[] odd, int pairs, int[] row);

    /** Rounds {@code (+0 + first) + second} to BF16 and packs it. */
    void roundSum(int[] first, int[] second, int pairs, int[] row);

    /**
     * Casts a row to E4M3.
     *
     * @param scales factor of each block of channels
     * @param blockPairs ints of the row in a block
     * @param codes gets, for each int of the row, the two codes in its lower half, the even channel low
     */
    void encode(int[] row, float[] scales, int blockPairs, int[] codes);

    /** Returns the fastest loops of this process: on vectors with the module {@code jdk.incubator.vector}, otherwise plain ones. */
    static RowKernels best() {
        return vector().orElseGet(PlainRowKernels::new);
    }

    /** Loops that need the module {@code jdk.incubator.vector}, which a JVM has only when it is asked for. */
    static Optional<RowKernels> vector() {
        Optional<Module> vector = ModuleLayer.boot().findModule("jdk.incubator.vector");
        if (vector.isEmpty()) {
            return Optional.empty();
        }
        RowKernels.class.getModule().addReads(vector.get());
        try {
            Class<?> type = Class.forName(RowKernels.class.getPackageName() + ".VectorRowKernels");
            return Optional.of((RowKernels) type.getDeclaredConstructor().newInstance());
        } catch (ReflectiveOperationException | LinkageError e) {
            Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
            System.getLogger("org.ep4j")
                    .log(
                            System.Logger.Level.INFO,
                            "scalar loops are used, because the vector loops cannot be loaded: {0}",
                            cause);
            return Optional.empty();
        }
    }
}
