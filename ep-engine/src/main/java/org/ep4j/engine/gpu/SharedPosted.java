package org.ep4j.engine.gpu;

import java.time.Duration;
import org.ep4j.spi.HostPosted;

/**
 * Lets several threads post to a peer: proxy threads for kernels, and the thread that sets up and recovers. Kernels that
 * overlap may tell a counter in another order than they read it; a value that is not above the last one is left out.
 */
final class SharedPosted implements HostPosted {
    private final HostPosted posted;
    private final Object[] locks;
    private final long[][] told;

    SharedPosted(HostPosted posted, int ranks) {
        this.posted = posted;
        this.locks = new Object[ranks];
        this.told = new long[ranks][COUNTERS];
        for (int r = 0; r < ranks; r++) {
            locks[r] = new Object();
        }
    }

    @Override
    public void write(int peer, long target, long source, long bytes) {
        synchronized (locks[peer]) {
            posted.write(peer, target, source, bytes);
        }
    }

    @Override
    public void advance(int peer, int counter, long value) {
        synchronized (locks[peer]) {
            if (value > told[peer][counter]) {
                posted.advance(peer, counter, value);
                told[peer][counter] = value;
            }
        }
    }

    @Override
    public long seen(int counter, int source) {
        return posted.seen(counter, source);
    }

    @Override
    public void drain(int peer, Duration deadline) {
        synchronized (locks[peer]) {
            posted.drain(peer, deadline);
        }
    }

    @Override
    public void disconnect(int peer) {
        posted.disconnect(peer);
    }
}
