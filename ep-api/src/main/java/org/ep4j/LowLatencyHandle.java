package org.ep4j;

/** The routing of one low-latency dispatch, good for one or more combines for as long as the buffer is open. */
public interface LowLatencyHandle {
    /** T, tokens that this rank sent. */
    int tokens();
}
