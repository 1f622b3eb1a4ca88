package org.ep4j.cli.rank;

import java.util.Arrays;

/** A step of an operation: what a rank has to do with rows in its memory, however it is done. */
sealed interface RowStep {
    /** Rows that are read. */
    int read();

    /** Rows that are written. */
    int written();

    /** Bytes of a row that is written. */
    long rowBytes();

    /** Name in reports. */
    String name();

    /**
     * Copies of rows.
     *
     * @param name in reports
     * @param counts how often each row is copied
     * @param rowBytes bytes of a row
     */
    @SuppressWarnings("ArrayRecordComponent") // read in loops; equality is not asked of it
    record Copies(String name, int[] counts, long rowBytes) implements RowStep {
        /** One copy of each of a number of rows. */
        static Copies of(String name, int rows, long rowBytes) {
            int[] counts = new int[rows];
            Arrays.fill(counts, 1);
            return new Copies(name, counts, rowBytes);
        }

        @Override
        public int read() {
            return counts.length;
        }

        @Override
        public int written() {
            return Arrays.stream(counts).sum();
        }
    }

    /**
     * Sums of neighbouring BF16 rows.
     *
     * @param counts rows of each sum
     * @param weighted true to multiply each row by a weight
     * @param rowBytes bytes of a row
     */
    @SuppressWarnings("ArrayRecordComponent") // read in loops; equality is not asked of it
    record Sums(int[] counts, boolean weighted, long rowBytes) implements RowStep {
        @Override
        public int read() {
            return Arrays.stream(counts).sum();
        }

        @Override
        public int written() {
            return counts.length;
        }

        @Override
        public String name() {
            return "sum";
        }
    }

    /**
     * Casts of BF16 rows to FP8.
     *
     * @param rows how many
     * @param rowBytes bytes of codes of a row, one for each channel
     */
    record Casts(int rows, long rowBytes) implements RowStep {
        @Override
        public int read() {
            return rows;
        }

        @Override
        public int written() {
            return rows;
        }

        @Override
        public String name() {
            return "cast";
        }
    }
}
