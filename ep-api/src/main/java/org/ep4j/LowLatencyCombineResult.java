package org.ep4j;

/**
 * Result of a low-latency combine. Two results are alive at once, and accessors wait, as with
 * {@link LowLatencyDispatchResult}.
 */
public interface LowLatencyCombineResult {
    /** Event that completes when the contents may be read; with the hook, when {@link #receive} is done. */
    EpEvent event();

    /**
     * With the hook: receives. Must be called once on every rank, before the second-next combine.
     *
     * @throws EpStateException when the request did not ask for the hook, or it was received already
     */
    void receive();

    /** Combined rows, {@code [T, H]} BF16. */
    Tensor out();
}
