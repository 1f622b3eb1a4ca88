package org.ep4j;

/**
 * The routing of one low-latency dispatch, usable for one or more combines until this handle or the buffer is closed.
 * Only ep4j implements this interface; it may gain methods.
 */
public interface LowLatencyHandle extends AutoCloseable {
    /** T, tokens that this rank sent. */
    int tokens();

    /**
     * Frees the memory of the routing now; without this call, it is freed some time after the handle becomes
     * unreachable. Operations that were sent before, and their receiving halves, are not disturbed; later ones are
     * refused. A second call does nothing.
     */
    @Override
    default void close() {}
}
