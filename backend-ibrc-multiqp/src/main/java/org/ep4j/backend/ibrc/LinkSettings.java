package org.ep4j.backend.ibrc;

import java.time.Duration;
import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;

/**
 * How bytes are spread over the queue pairs to a peer.
 *
 * @param stripe bytes of a piece; writes that total at most this size stay on one queue pair
 * @param signal at least one of so many requests of a queue pair reports completion
 * @param timeout longest wait of a call
 */
record LinkSettings(long stripe, int signal, Duration timeout) {
    static LinkSettings from(EpConfig config) {
        return new LinkSettings(IbrcKeys.STRIPE.get(config), IbrcKeys.SIGNAL.get(config), EpKeys.TIMEOUT.get(config));
    }

    /** Most requests of a queue pair of some depth between two that report completion. */
    int signalInterval(int depth) {
        return Math.max(1, Math.min(signal, depth / 4));
    }
}
