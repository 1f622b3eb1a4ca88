package org.ep4j.backend.ibrc;

/** What peers may do to registered memory, by what it holds. */
enum Access {
    /** Data, which peers write: {@code IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}. */
    DATA(1 | 2),

    /** The same, whose bytes may arrive in any order: {@code IBV_ACCESS_RELAXED_ORDERING}. */
    RELAXED_DATA(DATA.flags | 1 << 20),

    /**
     * Counters, which peers also read and add to, with {@code IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC}; never relaxed, since a
     * counter may not pass the bytes before it.
     */
    WORDS(DATA.flags | 4 | 8);

    private final int flags;

    Access(int flags) {
        this.flags = flags;
    }

    /** Flags of {@code ibv_reg_mr}. */
    int flags() {
        return flags;
    }
}
