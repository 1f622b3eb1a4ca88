package org.ep4j;

/**
 * Format of the rows that a low-latency operation sends; a dispatch also delivers its rows in it. FP8 rows have one
 * scale for each 128 channels. FP8 is OCP's E4M3 on every device, gfx942 among them, so ranks of all kinds of GPUs
 * agree. Constants may be added: keep a {@code default} where you switch over them.
 */
public enum WireFormat {
    /** The rows as they are. */
    BF16,
    /** FP8_E4M3 with FP32 scales: {@code scale = amax / 448}. Dispatches only. */
    FP8,
    /** FP8_E4M3 with FP32 scales rounded up to a power of two, DeepEP's {@code round_scale}. Dispatches only. */
    FP8_POW2,
    /** FP8_E4M3 with the power-of-two scales as UE8M0 bytes, DeepEP's {@code use_ue8m0}. Dispatches only. */
    FP8_UE8M0,
    /** 10-bit LogFMT, which rounds the rows; they are delivered as BF16. Combines only. */
    LOGFMT10;

    /** Returns true for the formats whose rows come with scales. */
    public boolean isFp8() {
        return this == FP8 || this == FP8_POW2 || this == FP8_UE8M0;
    }
}
