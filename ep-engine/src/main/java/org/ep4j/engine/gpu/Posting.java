package org.ep4j.engine.gpu;

import java.time.Duration;

/**
 * Peers of a GPU that are not mapped, and the host threads that post to them. Without overrides there are no threads, since
 * all peers are mapped or kernels post by themselves.
 */
interface Posting {
    /** All peers are mapped. */
    Posting NONE = new Posting() {};

    /** Address of {@code struct Remote} of each rank; 0 if all peers are mapped. */
    default long tableAddress() {
        return 0;
    }

    /** An operation is about to be queued. */
    default void wake() {}

    /** No operation is under way. */
    default void quiet() {}

    /**
     * Forgets commands of kernels that gave up, none of which runs any more.
     *
     * @throws org.ep4j.EpTimeoutException when a thread is still inside a call of a backend at the deadline; it can be called
     *     again
     */
    default void restart(Duration deadline) {}

    /**
     * Waits until all commands that kernels have put are taken.
     *
     * @return false if some were not at the deadline
     */
    default boolean finish(Duration deadline) {
        return true;
    }

    /**
     * Ends soon, without a wait: the buffer does not use the memory any more. From here on it gives up no rank, since kernels wait for ranks
     * in other memory.
     */
    default void retire() {}

    /**
     * Ends, and waits until no thread uses the memory any more.
     *
     * @return false if a thread still does
     */
    default boolean end(Duration longest) {
        return true;
    }

    /** Whether nothing is posted to a rank any more, or shown of it. */
    default boolean hasGivenUp(int rank) {
        return false;
    }
}
