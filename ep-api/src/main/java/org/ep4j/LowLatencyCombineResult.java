package org.ep4j;

/**
 * Result of a low-latency combine. Two results are alive at once, and accessors wait, as with
 * {@link LowLatencyDispatchResult}.
 */
public interface LowLatencyCombineResult {
    /**
     * Event that completes when the tensors of this result may be read: after {@link #receive} if the request asked for
     * {@link LowLatencyCombineRequest.Builder#hook()}.
     */
    EpEvent event();

    /**
     * Receives the rows of a request that asked for {@link LowLatencyCombineRequest.Builder#hook()}. Must be called
     * once on every rank, before the second-next combine.
     *
     * @throws EpStateException when the request did not ask for the hook, or it was received already
     */
    void receive();

    /** Combined rows, {@code [T, H]} BF16. */
    Tensor out();
}
