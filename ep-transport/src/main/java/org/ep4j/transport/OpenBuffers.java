package org.ep4j.transport;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.ep4j.EpStateException;
import org.ep4j.spi.SymmetricBuffer;

/**
 * The buffers of a backend that is open on one rank: none is made once it is closed, and those that are still open are closed
 * with it. Safe for use from several threads.
 *
 * @param <B> buffers of the backend
 */
public final class OpenBuffers<B extends SymmetricBuffer> {
    private final Collective collective;
    private final int rank;
    private final Object lock = new Object();
    private final Set<B> buffers = new HashSet<>();
    private boolean closed;

    /** Creates the empty list of an open backend. */
    public OpenBuffers(Collective collective, int rank) {
        this.collective = collective;
        this.rank = rank;
    }

    /**
     * Refuses to begin another buffer of a closed backend.
     *
     * @throws EpStateException naming backend and rank
     */
    public void checkOpen() {
        synchronized (lock) {
            if (closed) {
                throw new EpStateException(collective.backend() + " is closed on " + collective.label(rank)
                        + "; open it again to expose buffers");
            }
        }
    }

    /**
     * Adds a buffer that was made meanwhile, or closes it where the backend was closed meanwhile.
     *
     * @return the buffer
     * @throws EpStateException naming backend, rank and buffer, which is closed then
     */
    public B add(B buffer) {
        synchronized (lock) {
            if (!closed) {
                buffers.add(buffer);
                return buffer;
            }
        }
        buffer.close();
        throw new EpStateException(collective.backend() + " was closed on " + collective.label(rank) + " while "
                + buffer + " was being created; close the backend only after its buffers");
    }

    /** Forgets a buffer that is closed. */
    public void remove(B buffer) {
        synchronized (lock) {
            buffers.remove(buffer);
        }
    }

    /**
     * Closes all of them, without the lock.
     *
     * @return false when the backend was closed before
     */
    public boolean close() {
        List<B> open;
        synchronized (lock) {
            if (closed) {
                return false;
            }
            closed = true;
            open = List.copyOf(buffers);
        }
        open.forEach(SymmetricBuffer::close);
        return true;
    }
}
