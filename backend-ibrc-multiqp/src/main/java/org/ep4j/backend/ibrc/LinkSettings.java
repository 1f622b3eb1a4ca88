package org.ep4j.backend.ibrc;

import java.time.Duration;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;

/**
 * How bytes are spread over the queue pairs to a peer and how many may be under way.
 *
 * @param stripe bytes of a piece; less than that stays on one queue pair
 * @param signal every so many requests of a queue pair one reports completion
 * @param inflightWrites requests of a queue pair that may be under way; 0 for as many as it holds
 * @param inflightBytes bytes to a peer that may be under way; 0 for any number
 * @param timeout longest wait of a call
 */
record LinkSettings(long stripe, int signal, int inflightWrites, long inflightBytes, Duration timeout) {
    static LinkSettings from(EpConfig config) {
        return new LinkSettings(
                config.get(IbrcKeys.STRIPE),
                config.get(IbrcKeys.SIGNAL),
                config.get(IbrcKeys.INFLIGHT_WRITES),
                config.get(IbrcKeys.INFLIGHT_BYTES),
                config.get(EpKeys.TIMEOUT));
    }

    /** Most requests of a queue pair of some depth between two that report completion. */
    int signalInterval(int depth) {
        return Math.max(1, Math.min(signal, depth / 4));
    }

    /** Requests that may be under way on a queue pair of some depth; two are kept free. */
    int credits(int depth) {
        int room = depth - 2;
        return inflightWrites > 0 ? Math.min(inflightWrites, room) : room;
    }
}
