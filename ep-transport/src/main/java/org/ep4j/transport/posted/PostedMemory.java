package org.ep4j.transport.posted;

import java.util.List;
import org.ep4j.DeviceMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.Resources;

/**
 * Memory of one buffer on this rank, registered with the NICs, and the counters of the buffer. Ranks are numbered by their index among
 * those that opened the backend.
 */
public abstract class PostedMemory {
    private final DeviceMemory local;
    private final Registrations registrations;
    private final long[][] sent;

    /**
     * Registrations of a buffer.
     *
     * @param data end when this rank closes the buffer
     * @param counters end when no peer can advance a counter any more
     */
    public record Registrations(Resources data, Resources counters) {
        /** Creates a pair with nothing in it. */
        public Registrations() {
            this(new Resources(), new Resources());
        }
    }

    /**
     * Creates memory that is registered on this rank.
     *
     * @param ranks number of ranks that opened the backend
     */
    protected PostedMemory(DeviceMemory local, int ranks, Registrations registrations) {
        this.local = local;
        this.registrations = registrations;
        // One more than callers use, for PostedConnection.postClosed.
        this.sent = new long[ranks][HostPosted.COUNTERS + 1];
    }

    final DeviceMemory local() {
        return local;
    }

    final Registrations registrations() {
        return registrations;
    }

    /** Values of the counters on a peer, as far as they were posted: the only copy of them. Guarded by the lock of the connection. */
    final long[] sent(int peer) {
        return sent[peer];
    }

    /** What peers need to know to write here. */
    protected abstract byte[] key();

    /**
     * Takes what the peers need to be known by; called once, before anything is written.
     *
     * @param keys of all ranks by index; empty for a rank without the buffer
     */
    protected abstract void keys(List<byte[]> keys);

    /** True once a peer has closed the buffer: its memory will soon not be registered any more. Any thread. */
    protected abstract boolean isClosedBy(int peer);

    /** Whether this rank's CPU counts what arrives, so that reading a counter has to poll. */
    protected boolean countsByPolling() {
        return true;
    }

    /** Makes new values of a counter visible to {@link #shown}; false where there is none. Any thread. */
    protected abstract boolean showNew(int source, int counter);

    /** Value of a counter that is visible on this rank, with acquire order. Any thread. */
    protected abstract long shown(int source, int counter);
}
