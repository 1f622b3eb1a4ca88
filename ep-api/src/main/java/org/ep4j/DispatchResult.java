package org.ep4j;

import java.util.Optional;

/**
 * What a high-throughput dispatch delivered on this rank. Tensors lie in the buffer (unless {@code out} was given) and are
 * valid until the next high-throughput dispatch of the buffer begins, or the buffer is closed; every accessor throws
 * {@link EpStateException} after that.
 *
 * <p>Accessors of an asynchronous operation wait for the event in host memory. In GPU memory, {@link #tokensPerExpert} and, with
 * exact counts, {@link #rows} and the tensors whose first dimension it is wait for it; all others return at once, and a
 * reader orders its work after the event.
 */
public interface DispatchResult {
    /** The routing. */
    DispatchHandle handle();

    /** Event that completes when the contents may be read. */
    EpEvent event();

    /** Number of rows received, including padding; without exact counts, the worst-case number. */
    long rows();

    /** {@code [rows, H]} of the sent type. */
    Tensor x();

    /** {@code [rows, S]} FP32, where the rows are FP8. */
    Optional<Tensor> scales();

    /**
     * By-rank layout: {@code [rows, K]} of the sent id type, local expert index, or -1 where the selection is not on this
     * rank; -1 in rows beyond the valid ones. By-expert layout: empty.
     */
    Optional<Tensor> topkIds();

    /**
     * Where weights were sent. By-rank layout: {@code [rows, K]} FP32, 0 where the id is -1. By-expert layout: {@code
     * [rows]} FP32, weight of the row's selection, 0 in padding.
     */
    Optional<Tensor> topkWeights();

    /** {@code [rows]} INT32: source rank of each row; -1 in padding. */
    Tensor sourceRanks();

    /** {@code [rows]} INT32: index of the token on its source rank; -1 in padding. */
    Tensor sourceTokens();

    /** {@code [R]} INT32 on the device: rows from each source rank (by-expert layout: selections), no padding. */
    Tensor rowsPerSource();

    /** {@code [L]} INT32 on the device: selections of each local expert, not rounded up. */
    Tensor rowsPerExpert();

    /**
     * First row of each local expert in the by-expert layout, followed by the end of the last one: {@code [L + 1]}
     * INT64 on the device.
     */
    Tensor expertOffsets();

    /** {@code [L]} on the host: selections of each local expert, rounded up to the alignment. Waits for the counts. */
    int[] tokensPerExpert();
}
