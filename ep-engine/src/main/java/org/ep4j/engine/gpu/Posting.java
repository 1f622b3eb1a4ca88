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
        public void finish(Duration deadline) {}
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

    /** Lets commands be taken that kernels have put, as far as that happens until the deadline. */
    void finish(Duration deadline);
}
