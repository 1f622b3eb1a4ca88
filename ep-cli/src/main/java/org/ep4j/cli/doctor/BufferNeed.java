package org.ep4j.cli.doctor;

import org.ep4j.EpShape;
import org.ep4j.doctor.DoctorInput.Need;
import org.ep4j.spi.EpRuntime;

/** Memory that ranks of one host share with each other. */
public final class BufferNeed {
    private BufferNeed() {}

    /** The need of ranks that all map each other's buffers of a shape. */
    public static Need of(EpShape shape, int ranks) {
        return new Need(ranks, EpRuntime.installed().bufferSize(shape, ranks, 0).symmetric());
    }
}
