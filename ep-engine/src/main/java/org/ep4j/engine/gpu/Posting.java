package org.ep4j.engine.gpu;

import java.time.Duration;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.Mask;

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

        @Override
        public void settle(Deadline deadline) {}

        @Override
        public void recovered(Mask mask) {}

        @Override
        public void stop() {}
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

    /**
     * Waits until all commands are taken that kernels have put, none of which runs any more: before a recovery, after which none
     * of them may be carried out.
     *
     * @throws org.ep4j.EpTimeoutException when some are left at the deadline
     */
    void settle(Deadline deadline);

    /** Posts again to all ranks outside of {@code mask}, and hears them again, whatever has failed before; after {@link #settle}. */
    void recovered(Mask mask);

    /** Ends the threads; what kernels still put is not posted. */
    void stop();
}
