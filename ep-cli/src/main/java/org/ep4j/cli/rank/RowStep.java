package org.ep4j.cli.rank;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * A step of an operation: what a rank has to do with rows in its memory, whatever code does it.
 *
 * @param kind of step
 * @param name in reports
 * @param counts copies of each row that is read, or rows of each sum; 1 for each cast
 * @param rowBytes bytes of a row that is written
 */
@SuppressWarnings("ArrayRecordComponent") // read in loops; equality is not asked of it
record RowStep(Kind kind, String name, int[] counts, long rowBytes) {
    enum Kind {
        COPY,
        /** Sums of neighbouring BF16 rows. */
        SUM,
        /** Sums of neighbouring BF16 rows, each multiplied by a weight. */
        WEIGHTED_SUM,
        /** Casts from BF16 to FP8. */
        CAST
    }

    static RowStep copies(String name, int[] counts, long rowBytes) {
        return new RowStep(Kind.COPY, name, counts, rowBytes);
    }

    /** One copy of each of a number of rows. */
    static RowStep copies(String name, int rows, long rowBytes) {
        return copies(name, ones(rows), rowBytes);
    }

    static RowStep sums(int[] counts, boolean weighted, long rowBytes) {
        return new RowStep(weighted ? Kind.WEIGHTED_SUM : Kind.SUM, "sum", counts, rowBytes);
    }

    static RowStep casts(int rows, long rowBytes) {
        return new RowStep(Kind.CAST, "cast", ones(rows), rowBytes);
    }

    private static int[] ones(int rows) {
        return IntStream.generate(() -> 1).limit(rows).toArray();
    }

    private boolean sums() {
        return kind == Kind.SUM || kind == Kind.WEIGHTED_SUM;
    }

    /** Rows that are read. */
    int read() {
        return sums() ? Arrays.stream(counts).sum() : counts.length;
    }

    /** Rows that are written. */
    int written() {
        return sums() ? counts.length : Arrays.stream(counts).sum();
    }
}
