package org.ep4j.engine.rows;

/**
 * A set of instructions that loops over rows are compiled for. Of those that a processor has, {@code auto} takes the last; on an AMD EPYC
 * with AVX-512 and BF16 conversions each was at least as fast as those before it.
 */
enum RowVariant {
    /** No native code: loops of the JVM. */
    JAVA("java", -1),
    /** What every processor of an architecture has: SSE2 on x86-64, NEON on AArch64. */
    BASELINE("baseline", 0),
    /** AVX2 and FMA. */
    AVX2("avx2", 1),
    /** AVX-512 F, BW, DQ and VL. */
    AVX512("avx512", 2),
    /** AVX-512 with conversions to BF16. */
    AVX512_BF16("avx512-bf16", 3);

    private final String setting;
    private final int number;

    RowVariant(String setting, int number) {
        this.setting = setting;
        this.number = number;
    }

    /** Value of {@code ep.host.rows}. */
    String setting() {
        return setting;
    }

    /** Number on the C++ side; negative where there is none. */
    int number() {
        return number;
    }
}
