package org.ep4j;

import java.util.Optional;

/**
 * Rows that a low-latency dispatch delivered on this rank, packed by local expert. Two results are alive at once: tensors not
 * given as {@code out} are valid until the second-next low-latency dispatch begins. After that, and before {@link
 * #receive} if the request has the hook, all accessors but {@link #handle} and {@link #event} throw {@link
 * EpStateException}. Host: accessors wait for the event. GPU: they return at once; order work that reads a tensor
 * after the event. Rows of an expert are ordered by source rank, source token, place in the top-k list; rows beyond
 * an expert's count hold nothing in particular.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface LowLatencyDispatchResult {
    /** Handle with the routing of this dispatch, needed to combine. */
    LowLatencyHandle handle();

    /**
     * Event that completes when the tensors of this result may be read: after {@link #receive} if the request asked for
     * {@link LowLatencyDispatchRequest.Builder#receiveHook()}.
     */
    EpEvent event();

    /**
     * Receives the rows of a request that asked for {@link LowLatencyDispatchRequest.Builder#receiveHook()}. Must be called
     * once on every rank, before the second-next dispatch.
     *
     * @throws EpStateException when the request did not ask for the hook, or it was received already
     */
    void receive();

    /** Received rows, {@code [L, R * maxLowLatencyTokens, H]} BF16 or FP8_E4M3. */
    Tensor x();

    /**
     * Scales of FP8 rows: {@code [L, R * maxLowLatencyTokens, S]} FP32, or UE8M0 with S rounded up to a multiple of 4.
     */
    Optional<Tensor> scales();

    /** {@code [L]} INT32: rows of each local expert. */
    Tensor rowsPerExpert();

    /** {@code [L, R * maxLowLatencyTokens]} INT32: index of each row's token on its source rank. */
    Tensor sourceTokens();

    /**
     * Rows from each source rank within each local expert, {@code [L, R]} INT64: the low 32 bits are the count, the
     * high 32 bits the first row.
     */
    Tensor layoutRanges();
}
