package org.ep4j;

/**
 * The routing of one dispatch: needed to combine, and to dispatch again along the same routes. It stays valid for as long
 * as the buffer is open, whatever else the buffer does meanwhile.
 */
public interface DispatchHandle {
    /** T, tokens that this rank sent. */
    int tokens();

    /** Rows that this rank received, padding included. */
    long rows();

    /** Order of these rows. */
    RowLayout layout();
}
