package org.ep4j;

import java.util.Optional;

/**
 * What a low-latency dispatch delivered on this rank, packed by local expert. Two results are alive at once: tensors not
 * given as {@code out} are valid until the second-next low-latency dispatch begins; every accessor throws
 * {@link EpStateException} after that, and waits for the event. Rows of an expert are ordered by source rank, source
 * token, place in the top-k list; rows beyond an expert's count hold nothing in particular.
 */
public interface LowLatencyDispatchResult {
    /** The routing. */
    LowLatencyHandle handle();

    /** When the contents may be read; with the hook, when the receiving half has ended. */
    EpEvent event();

    /**
     * With the hook: receives, with the options of the request but the events that it began after. Must be called once on every
     * rank, before the second-next dispatch.
     *
     * @return the end of the receiving half: it has come, unless the options are asynchronous
     * @throws EpStateException when the request did not ask for the hook, or it was received already
     */
    EpEvent receive();

    /**
     * With the hook: receives with options of its own, for example on another stream than the sending half. A stream that records
     * a graph takes it when it is asynchronous; both halves then belong to graphs that are launched in the order of their calls.
     *
     * @return the end of the receiving half: it has come, unless the options are asynchronous
     * @throws EpStateException when the request did not ask for the hook, or it was received already
     */
    EpEvent receive(OpOptions how);

    /** {@code [L, R * maxLowLatencyTokens, H]} BF16 or FP8_E4M3. */
    Tensor x();

    /**
     * FP8: {@code [L, R * maxLowLatencyTokens, S]} FP32, or UE8M0 with S rounded up to a multiple of 4; in columns, L times what
     * {@link ScaleLayout#COLUMNS} says of {@code R * maxLowLatencyTokens} rows.
     */
    Optional<Tensor> scales();

    /** {@code [L]} INT32: rows of each local expert. */
    Tensor counts();

    /**
     * {@code [L]} on the host: rows of each local expert. Waits for the event; with the hook, only after {@link #receive}.
     *
     * @throws EpStateException when the request did not ask for it
     */
    int[] countsOnHost();

    /** {@code [L, R * maxLowLatencyTokens]} INT32: index of each row's token on its source rank. */
    Tensor sourceTokens();

    /** {@code [L, R]} INT64: rows of each source rank inside an expert: count in the low, first row in the high 32 bits. */
    Tensor layoutRanges();
}
