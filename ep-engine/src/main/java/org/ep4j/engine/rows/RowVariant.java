package org.ep4j.engine.rows;

/**
 * Instruction sets for which loops over rows are compiled. {@code auto} takes the last one that the CPU has; on an AMD EPYC with AVX-512
 * and BF16 conversions each was at least as fast as those before it.
 */
enum RowVariant {
    /** No native code: loops of the JVM. */
    JAVA("java", -1),
    /** Instructions of every CPU of an architecture: SSE2 on x86-64, NEON on AArch64. */
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
