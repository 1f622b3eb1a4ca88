package org.ep4j;

/**
 * What a low-latency combine delivered. Two results are alive at once, as with
 * {@link LowLatencyDispatchResult}.
 */
public interface LowLatencyCombineResult {
    /** When the contents may be read; with the hook, when the receiving half has ended. */
    EpEvent event();

    /**
     * With the hook: receives, with the options of the request but the events that it began after. Must be called once on every
     * rank, before the second-next combine.
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

    /** {@code [T, H]} BF16. */
    Tensor out();
}
