package org.ep4j.transport.posted;

import java.util.List;
import java.util.Optional;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.transport.Collective;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.posted.PostedMemory.Registrations;

/**
 * The NICs of one rank as a {@link PostedBackend} uses them. One thread calls, in this order, {@link #prepare}, {@link #address}, {@link
 * #connect} for each peer, and {@link #pauses}. From then on several threads may call {@link #register}, {@link #tryRegister} and {@link
 * #refusal} at the same time, and end registrations. {@link #close} is called once: after all of these, unless the backend is closed while
 * another thread registers a buffer.
 *
 * @param <M> memory of buffers
 */
public interface PostedEndpoint<M extends PostedMemory> extends AutoCloseable {
    /** Takes collective steps that must come before there is an address. The default takes none. */
    default void prepare(Collective collective, Deadline deadline) {}

    /** Opens what peers connect to, and returns what they need to know of it. */
    byte[] address();

    /**
     * Connects to a peer.
     *
     * @param addresses of all ranks, by index
     */
    PostedConnection<M> connect(PostedPeer peer, List<byte[]> addresses);

    /**
     * Pauses of the threads that make progress, one for each thread. The default is one thread with a {@link BackoffPause}.
     *
     * @param name for a thread of this endpoint
     */
    default List<PollPause> pauses(String name) {
        return List.of(new BackoffPause(name));
    }

    /**
     * Registers memory of a buffer, and makes its counters.
     *
     * @param registrations get what ends them, also if this fails halfway
     */
    M register(ExposedMemory memory, Registrations registrations);

    /** As {@link RegistersMemory#tryRegister}. */
    default void tryRegister(ExposedMemory memory) {
        Registrations made = new Registrations();
        try {
            register(memory, made);
        } finally {
            made.data().close();
            made.counters().close();
        }
    }

    /** As {@link RegistersMemory#refusal}. The default takes memory of the host only. */
    default Optional<String> refusal(ExposedMemory.Kind kind) {
        return kind == ExposedMemory.Kind.HOST
                ? Optional.empty()
                : Optional.of("this backend registers host memory only, not " + kind);
    }

    /** Names of NICs or ports, for messages. */
    @Override
    String toString();

    /** Gives everything back, also after a step has failed. All connections have ended before. */
    @Override
    void close();
}
