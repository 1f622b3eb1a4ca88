package org.ep4j.backend.ibrc;

import java.time.Duration;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.topology.NicFamily;

/**
 * How bytes are spread over the queue pairs to a peer.
 *
 * @param stripe bytes of a piece; less than that stays on one queue pair
 * @param signal every so many requests of a queue pair one reports completion
 * @param timeout longest wait of a call
 */
record LinkSettings(long stripe, int signal, Duration timeout) {
    static LinkSettings from(EpConfig config) {
        return new LinkSettings(config.get(IbrcKeys.STRIPE), config.get(IbrcKeys.SIGNAL), config.get(EpKeys.TIMEOUT));
    }

    /**
     * What this rank may have under way on a NIC, to all peers: what settings say, else what holds for its kind where that fails
     * beyond limits.
     */
    static FlowLimits limits(EpConfig config, NicFamily nic) {
        FlowLimits known = FlowLimits.of(nic);
        return (known.strict() ? known : new FlowLimits(known.nic(), 0, 0, 0))
                .with(
                        config.get(IbrcKeys.INFLIGHT_BYTES),
                        config.get(IbrcKeys.INFLIGHT_WRITES),
                        config.get(IbrcKeys.INFLIGHT_MESSAGES));
    }

    /** Most requests of a queue pair of some depth between two that report completion. */
    int signalInterval(int depth) {
        return Math.max(1, Math.min(signal, depth / 4));
    }

    /** Requests that may be under way on a queue pair of some depth; two are kept free. */
    static int credits(int depth) {
        return depth - 2;
    }
}
