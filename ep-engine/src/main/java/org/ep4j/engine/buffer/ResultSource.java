package org.ep4j.engine.buffer;

import org.ep4j.engine.sync.Validity;

/** An operation as its result reads it. */
public interface ResultSource {
    /**
     * Waits until the operation has ended, if only then it is known what it delivers.
     *
     * @throws org.ep4j.EpException what the operation failed with
     */
    default void await() {}

    /** Number of the operation, for {@link Validity}. */
    long number();

    /** Checks, after {@link #await}, that the result may still be read. */
    default void check(Validity validity) {
        await();
        validity.check(number());
    }
}
