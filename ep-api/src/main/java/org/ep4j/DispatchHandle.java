package org.ep4j;

/**
 * The routing of one dispatch: needed to combine, and to dispatch again along the same routes. It stays valid until
 * it or the buffer is closed, whatever else the buffer does meanwhile. Only ep4j implements this interface; it may gain methods.
 */
public interface DispatchHandle extends AutoCloseable {
    /** T, tokens that this rank sent. */
    int tokens();

    /** Rows that this rank received, padding included. */
    long rows();

    /** Order of the rows that this rank received. */
    RowLayout layout();

    /**
     * Frees the memory of the routing now; without this call, it is freed some time after the handle becomes
     * unreachable. Operations that were called before are not disturbed; later ones are refused. A second call does
     * nothing.
     */
    @Override
    default void close() {}
}
