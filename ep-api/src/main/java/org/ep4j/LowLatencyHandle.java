package org.ep4j;

/** The routing of one low-latency dispatch, good for one or more combines until it or the buffer is closed. */
public interface LowLatencyHandle extends AutoCloseable {
    /** T, tokens that this rank sent. */
    int tokens();

    /**
     * Gives the memory of the routing back now; otherwise that happens some time after the handle can no longer be
     * reached. Operations that were sent before, and their receiving halves, are not disturbed; later ones are refused. A second
     * call does nothing.
     */
    @Override
    default void close() {}
}
