package org.ep4j;

import java.util.Optional;

/**
 * Result of a combine. Tensors not given as {@code out} or {@code outWeights} are valid until the next combine of the same
 * mode begins on the buffer; in low latency, where two results are alive at once, until the second-next one. After that, and before
 * {@link #receive} if the request has the hook, all accessors but {@link #event} throw {@link EpStateException}. Host:
 * accessors wait for the event. GPU: they return at once; queue work that reads a tensor on the same stream, or order
 * it after the event.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface CombineResult {
    /**
     * Event that completes when the tensors of this result may be read. With {@link
     * LowLatencyCombineRequest.Builder#receiveHook()}, it is the event of the receiving half, and {@link EpEvent#await}
     * also throws what the sending half failed with. An event that was returned before {@link #receive} also waits for
     * that call, and has no native handle until then.
     */
    EpEvent event();

    /**
     * Receives the rows of a request that asked for {@link LowLatencyCombineRequest.Builder#receiveHook()}: on the stream of
     * the combine, and asynchronously where the combine was. Must be called once on every rank, before the second-next
     * low-latency combine; also when an asynchronous combine failed, unless the buffer recovers.
     *
     * <p>Both halves must be in the same recording of a graph, or in none.
     *
     * @throws EpStateException when the request did not ask for the hook, as no high-throughput one does, it was
     *     received already, or the buffer has recovered since (on the host, with asynchronous options, the event throws
     *     this); also when the halves would not be in the same recording, which does not count as the call
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
