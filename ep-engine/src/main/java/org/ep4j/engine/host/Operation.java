package org.ep4j.engine.host;

import java.time.Duration;
import java.util.Optional;
import org.ep4j.EpEvent;
import org.ep4j.engine.buffer.Source;
import org.ep4j.transport.Deadline;

/** An operation of a buffer. Its results wait for its end where it runs on the buffer's thread. */
abstract class Operation implements Source {
    private Optional<EpEvent> end = Optional.empty();
    private Duration longest = Duration.ZERO;

    /** Runs once, in turn with the buffer's other operations. */
    abstract void run(Deadline deadline);

    /**
     * Sets what results wait for, before there are any.
     *
     * @param event end of the operation
     * @param timeout longest wait of an accessor
     */
    final void endsWith(EpEvent event, Duration timeout) {
        end = Optional.of(event);
        longest = timeout;
    }

    @Override
    public final void await() {
        if (end.isPresent()) {
            end.get().await(longest);
        }
    }
}
