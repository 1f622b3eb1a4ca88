package org.ep4j.backend.efa;

import java.lang.invoke.MethodHandles;
import org.ep4j.plan.RecordCodec;

/**
 * What a rank tells of a buffer.
 *
 * @param number of the buffer on that rank, for records
 * @param data its memory
 */
record BufferRecord(int number, Region data) {
    /** Of a rank that has no part in the buffer. */
    static final BufferRecord ABSENT = new BufferRecord(-1, Region.ABSENT);

    static final RecordCodec<BufferRecord> CODEC =
            new RecordCodec<>(MethodHandles.lookup(), BufferRecord.class, "a buffer", 2);
}
