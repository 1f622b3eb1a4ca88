package org.ep4j;

import java.util.Optional;

/**
 * Result of a combine. Tensors not given as {@code out} are valid until the next combine of the same mode begins on
 * the buffer; in low latency, where two results are alive at once, until the second-next one. After that, and before
 * {@link #receive} if the request has the hook, all accessors but {@link #event} throw {@link EpStateException}. Host:
 * accessors wait for the event. GPU: they return at once; order work that reads a tensor after the event.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface CombineResult {
    /**
     * Event that completes when the tensors of this result may be read: after {@link #receive} if the request asked for
     * {@link LowLatencyCombineRequest.Builder#receiveHook()}.
     */
    EpEvent event();

    /**
     * Receives the rows of a request that asked for {@link LowLatencyCombineRequest.Builder#receiveHook()}. Must be called
     * once on every rank, before the second-next low-latency combine.
     *
     * @throws EpStateException when the request did not ask for the hook, as no high-throughput one does, or it was
     *     received already
     */
    void receive();

    /** Combined rows, {@code [T, H]} BF16. */
    Tensor out();

    /**
     * Weight of each selection, {@code [T, K]} FP32: 0 if the expert id is -1 or the expert's rank is masked. Empty in low
     * latency, and if the request had no weights.
     */
    Optional<Tensor> weights();
}
