package org.ep4j.engine.gpu;

/** What a kernel records, in the order of {@code enum What} in {@code op.cu}. */
enum What {
    NOTHING,
    WAIT,
    MISMATCH,
    BAD_ID,
    OVERFLOW,
    DUPLICATES,
    ABORTED,
    OUT_TOO_SMALL,
    VOID_HANDLE,
    NO_ROOM,
    RING,
    EXPELLED;

    @SuppressWarnings("EnumOrdinal") // the order is that of the kernels' enum
    long code() {
        return ordinal();
    }

    static What of(long code) {
        return code >= 0 && code < values().length ? values()[(int) code] : NOTHING;
    }
}
