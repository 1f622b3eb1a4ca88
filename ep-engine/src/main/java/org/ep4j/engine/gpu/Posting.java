package org.ep4j.engine.gpu;

import java.time.Duration;

/** Host threads that post for a GPU, as the operations of a buffer know them. */
interface Posting {
    /** All peers are mapped. */
    Posting NONE = new Posting() {
        @Override
        public void wake() {}

        @Override
        public void quiet() {}

        @Override
        public void restart(Duration deadline) {}

        @Override
        public boolean finish(Duration deadline) {
            return true;
        }

        @Override
        public void retire() {}

        @Override
        public boolean end(Duration longest) {
            return true;
        }

        @Override
        public boolean hasGivenUp(int rank) {
            return false;
        }
    };

    /** An operation is about to be queued. */
    void wake();

    /** No operation is under way. */
    void quiet();

    /**
     * Forgets commands of kernels that gave up, none of which runs any more.
     *
     * @throws org.ep4j.EpTimeoutException when a thread is still inside a call of a backend at the deadline; it can be called
     *     again
     */
    void restart(Duration deadline);

    /**
     * Waits until all commands that kernels have put are taken.
     *
     * @return false if some were not at the deadline
     */
    boolean finish(Duration deadline);

    /**
     * Ends soon, without a wait: the buffer does not use the memory any more. From here on it gives up no rank, since kernels wait for ranks
     * in other memory.
     */
    void retire();

    /**
     * Ends, and waits until no thread uses the memory any more.
     *
     * @return false if a thread still does
     */
    boolean end(Duration longest);

    /** Whether nothing is posted to a rank any more, or shown of it. */
    boolean hasGivenUp(int rank);
}
