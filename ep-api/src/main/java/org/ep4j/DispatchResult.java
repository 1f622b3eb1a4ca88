package org.ep4j;

import java.util.Optional;

/**
 * Rows that a high-throughput dispatch delivered on this rank. Tensors lie in the buffer, unless the request gave {@code out} and
 * the like for them, and are valid until the next high-throughput dispatch of the buffer begins, or the buffer is closed. After
 * that all accessors but {@link #handle} and {@link #event} throw {@link EpStateException}.
 *
 * <p>Host: accessors wait for {@link #event}. GPU: {@link #hostRowsPerExpert} waits for it. With exact counts so do
 * {@link #rows} and the tensors of {@code rows} rows; everything else returns at once. Order work that reads a tensor
 * after the event.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface DispatchResult {
    /** Handle with the routing of this dispatch, needed to combine. */
    DispatchHandle handle();

    /** Event that completes when the tensors of this result may be read. */
    EpEvent event();

    /**
     * Number of rows received, including padding; if the request asked for {@link DispatchRequest.Builder#worstCase()},
     * the worst-case number.
     */
    long rows();

    /** Received rows, {@code [rows, H]}, of the type that was sent. */
    Tensor x();

    /** Scales of the received rows, {@code [rows, S]} FP32; empty unless the rows are FP8. */
    Optional<Tensor> scales();

    /**
     * Local expert index of each selection in the by-rank layout, {@code [rows, K]} of the id type that was sent; -1
     * for selections that are not on this rank (experts of other ranks, ids of -1), and in all rows after the received
     * ones. Empty in the by-expert layout.
     */
    Optional<Tensor> topkIds();

    /**
     * Top-k weights of the received rows; empty if the request had no weights. By-rank layout: {@code [rows, K]} FP32,
     * 0 where the id is -1. By-expert layout: {@code [rows]} FP32, weight of the row's selection, 0 in padding.
     */
    Optional<Tensor> topkWeights();

    /** {@code [rows]} INT32: source rank of each row; -1 in padding. */
    Tensor sourceRanks();

    /** {@code [rows]} INT32: index of the token on its source rank; -1 in padding. */
    Tensor sourceTokens();

    /**
     * {@code [R]} INT32 on the device: number of rows from each source rank, without padding; in the by-expert layout,
     * number of selections.
     */
    Tensor rowsPerSource();

    /** {@code [L]} INT32 on the device: selections of each local expert, not rounded up. */
    Tensor rowsPerExpert();

    /**
     * First row of each local expert in the by-expert layout, followed by the end of the last one: {@code [L + 1]}
     * INT64 on the device.
     */
    Tensor expertOffsets();

    /** {@code [L]} on the host: selections of each local expert, rounded up to the alignment. Waits for the counts. */
    int[] hostRowsPerExpert();
}
