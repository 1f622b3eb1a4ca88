package org.ep4j.backend.ibrc;

import java.lang.invoke.MethodHandles;
import java.util.List;
import org.ep4j.plan.RecordCodec;

/**
 * What a rank tells of a buffer.
 *
 * @param bytes its size, which must be the same everywhere
 * @param number of the buffer on that rank, for immediates
 * @param data its memory
 * @param counters its counters
 */
record BufferRecord(long bytes, int number, Region.Remote data, Region.Remote counters) {
    /** Of a rank that has no part in the buffer. */
    static final BufferRecord ABSENT =
            new BufferRecord(0, -1, new Region.Remote(0, List.of()), new Region.Remote(0, List.of()));

    static final RecordCodec<BufferRecord> CODEC =
            new RecordCodec<>(MethodHandles.lookup(), BufferRecord.class, "a buffer", 2);
}
