package org.ep4j.engine.host;

import java.time.Duration;
import java.util.Optional;
import org.ep4j.EpEvent;
import org.ep4j.engine.buffer.ResultSource;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.sync.Peers;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/** An operation of a buffer. Its results wait for its end if it runs on the buffer's thread. */
abstract class Operation implements ResultSource {
    final HostState state;
    final Peers<HostMemory> peers;
    final BufferLayout layout;
    final int topK;

    /** Number of the operation, once it is known. */
    long number;

    private Optional<EpEvent> end = Optional.empty();
    private Duration longest = Duration.ZERO;

    Operation(HostState state) {
        this.state = state;
        peers = state.peers();
        layout = peers.layout();
        topK = state.shape().topK();
    }

    /** Runs once, in turn with the buffer's other operations. */
    abstract void run(Deadline deadline);

    /** Sets the end that results wait for, and the longest wait of an accessor, before there are any results. */
    final void endsWith(EpEvent event, Duration timeout) {
        end = Optional.of(event);
        longest = timeout;
    }

    @Override
    public final long number() {
        return number;
    }

    @Override
    public final void await() {
        if (end.isPresent()) {
            end.get().await(longest);
        }
    }

    /** Waits for the end of the receiving half; does nothing for a synchronous operation, whose half has ended. */
    public final void awaitReceived(EpEvent received) {
        if (end.isPresent()) {
            received.await(longest);
        }
    }
}
