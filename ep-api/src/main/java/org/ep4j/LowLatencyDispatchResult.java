package org.ep4j;

import java.util.Optional;

/**
 * Rows that a low-latency dispatch delivered on this rank, packed by local expert. Two results are alive at once: tensors that the
 * request did not give with {@code out} and the like are valid until the second-next low-latency dispatch begins. After that,
 * and before {@link #receive} if the request has the hook, all accessors but {@link #handle} and {@link #event} throw {@link
 * EpStateException}. Host: accessors wait for the event; with the hook, {@link #handle} waits only for the sending
 * half. GPU: they return at once; queue work that reads a tensor on the same stream, or order it after the event.
 * Rows of an expert are ordered by source rank, source token, place in the top-k list; rows beyond an expert's count
 * hold nothing in particular.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface LowLatencyDispatchResult {
    /** Handle with the routing of this dispatch, needed to combine. */
    LowLatencyHandle handle();

    /**
     * Event that completes when the tensors of this result may be read. With {@link
     * LowLatencyDispatchRequest.Builder#receiveHook()}, it is the event of the receiving half, and {@link EpEvent#await}
     * also throws what the sending half failed with. An event that was returned before {@link #receive} also waits for
     * that call, and has no native handle until then.
     */
    EpEvent event();

    /**
     * Receives the rows of a request that asked for {@link LowLatencyDispatchRequest.Builder#receiveHook()}: on the stream
     * of the dispatch, and asynchronously where the dispatch was. Must be called once on every rank, before the
     * second-next dispatch; also when an asynchronous dispatch failed, unless the buffer recovers.
     *
     * <p>Both halves must be in the same recording of a graph, or in none.
     *
     * @throws EpStateException when the request did not ask for the hook, it was received already, or the buffer has
     *     recovered since (on the host, with asynchronous options, the event throws this); also when the halves would not
     *     be in the same recording, which does not count as the call
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
