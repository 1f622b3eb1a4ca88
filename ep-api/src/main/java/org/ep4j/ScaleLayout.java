package org.ep4j;

/** How the scales of FP8 rows lie in the tensor that a dispatch delivers. */
public enum ScaleLayout {
    /** The scales of a row side by side: {@code [rows, S]} FP32, or {@code [rows, S4]} UE8M0 with S4 = S rounded up to 4. */
    ROWS,
    /**
     * The scales of a block of 128 channels side by side for all rows, as GEMM libraries load them by TMA: {@code [S, N]} FP32, or
     * {@code [S4 / 4, N, 4]} UE8M0, four of a row packed into 32 bits. N is the number of rows, rounded up to 4 so that every column
     * begins at 16 bytes; what lies behind the last row holds nothing in particular.
     */
    COLUMNS
}
