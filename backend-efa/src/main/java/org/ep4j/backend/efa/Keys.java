package org.ep4j.backend.efa;

/**
 * The keys of memory at one place: a NIC, or an endpoint where a provider registers memory for endpoints. For a peer they are
 * remote keys, for the rank itself local descriptors. There is one for every {@code chunk} bytes.
 *
 * @param virtual true when peers give addresses, false when they give offsets
 * @param chunk bytes of each but the last
 * @param values in the order of the chunks
 */
@SuppressWarnings("ArrayRecordComponent") // not compared, and read for every write
record Keys(boolean virtual, long chunk, long[] values) {
    /** One key for all. */
    static final long WHOLE = Long.MAX_VALUE;

    Keys {
        if (chunk <= 0) {
            throw new IllegalArgumentException("a key of " + chunk + " bytes");
        }
        values = values.clone();
    }

    long at(long offset) {
        return values[(int) (offset / chunk)];
    }

    /** Returns the remote address that a write to an offset of memory names, where the memory begins at {@code address}. */
    long target(long address, long offset) {
        return virtual ? address + offset : offset % chunk;
    }

    /** Bytes from an offset to where another key begins. */
    long left(long offset) {
        return chunk - offset % chunk;
    }
}
