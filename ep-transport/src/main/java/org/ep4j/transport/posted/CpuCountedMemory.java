package org.ep4j.transport.posted;

import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.DeviceMemory;
import org.ep4j.spi.HostPosted;

/**
 * Memory of one buffer whose counters this rank's CPU sets as writes of peers arrive. Each source has one counter more than callers use:
 * {@link PostedConnection#postClosed} sets it. Safe for use from several threads.
 */
public abstract class CpuCountedMemory extends PostedMemory {
    private static final int COUNTERS = HostPosted.COUNTERS + 1;

    private final AtomicLongArray arrived;
    private final AtomicLongArray shown;

    /**
     * Creates registered memory, with counters at 0.
     *
     * @param ranks number of ranks that opened the backend
     */
    protected CpuCountedMemory(DeviceMemory local, int ranks, Registrations registrations) {
        super(local, ranks, registrations);
        this.arrived = new AtomicLongArray(ranks * COUNTERS);
        this.shown = new AtomicLongArray(ranks * COUNTERS);
    }

    /** Sets a counter of a source, once all that the source wrote before it is in memory. One thread at a time for each source. */
    public final void advance(int source, int counter, long value) {
        arrived.setRelease(source * COUNTERS + counter, value);
    }

    /** As {@link #advance} with a counter that a peer has named; returns false, and sets nothing, if there is no such counter. */
    final boolean tryAdvance(int source, int counter, long value) {
        if (counter < 0 || counter >= COUNTERS) {
            return false;
        }
        advance(source, counter, value);
        return true;
    }

    /** Returns the last value of a counter that has arrived. */
    public final long arrived(int source, int counter) {
        return arrived.getAcquire(source * COUNTERS + counter);
    }

    @Override
    public final boolean isClosedBy(int peer) {
        return arrived(peer, HostPosted.COUNTERS) != 0;
    }

    @Override
    protected final boolean showNew(int source, int counter) {
        int word = source * COUNTERS + counter;
        long value = arrived(source, counter);
        if (value <= shown.get(word)) {
            return false;
        }
        shown.accumulateAndGet(word, value, Math::max);
        return true;
    }

    @Override
    protected final long shown(int source, int counter) {
        return shown.get(source * COUNTERS + counter);
    }
}
