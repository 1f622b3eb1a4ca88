package org.ep4j;

/**
 * A part of a buffer's memory that no peer reaches: results of one kind. On GPUs a part is taken, result by result, when a call first
 * needs it, and stays until the buffer is closed; what a program never uses, or gives memory of its own for, costs nothing. On the host all
 * of it is reserved, and pages that no result uses are not touched.
 */
public enum BufferPart {
    /** What a high-throughput dispatch delivers besides rows: ids, weights, scales and sources of every row, and counts. */
    DISPATCHED,
    /** Rows of the by-expert layout and their scales; not needed with {@link DispatchRequest#out} and outputs of the caller. */
    BY_EXPERT,
    /** What a high-throughput combine delivers. */
    COMBINED,
    /** What two low-latency dispatches deliver. */
    LOW_LATENCY_DISPATCHED,
    /** Memory of {@link EpBuffer#lowLatencyCombineInput}, for two combines. */
    LOW_LATENCY_INPUT,
    /** What two low-latency combines deliver. */
    LOW_LATENCY_COMBINED
}
