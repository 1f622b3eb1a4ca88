package org.ep4j.backend.ibrc;

import java.time.Duration;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.topology.NicFamily;

/**
 * How bytes are spread over the queue pairs to a peer and how many may be under way.
 *
 * @param stripe bytes of a piece; writes that total at most this size stay on one queue pair
 * @param signal every so many requests of a queue pair one reports completion
 * @param inflightWrites requests of a queue pair that may be under way; 0 for as many as it holds
 * @param inflightBytes bytes to a peer that may be under way; 0 for any number
 * @param timeout longest wait of a call
 */
record LinkSettings(long stripe, int signal, int inflightWrites, long inflightBytes, Duration timeout) {
    /**
     * With what settings leave to the kind of NIC: where it fails beyond limits, its bytes are divided between peers, since they
     * hold for a rank. A piece that has begun is not held back, so a peer has one under way at least.
     *
     * @param peers to which this rank has links
     */
    static LinkSettings from(EpConfig config, NicFamily nic, int peers) {
        FlowLimits limits = FlowLimits.of(nic);
        int writes = config.get(IbrcKeys.INFLIGHT_WRITES);
        long bytes = config.get(IbrcKeys.INFLIGHT_BYTES);
        boolean strict = limits.strict();
        return new LinkSettings(
                config.get(IbrcKeys.STRIPE),
                config.get(IbrcKeys.SIGNAL),
                writes == 0 && strict ? limits.largeWrites() : writes,
                bytes == 0 && strict ? Math.max(1, limits.bytes() / Math.max(1, peers)) : bytes,
                config.get(EpKeys.TIMEOUT));
    }

    /** What holds for a kind of NIC where settings say nothing, for people. */
    static String told(NicFamily nic) {
        FlowLimits limits = FlowLimits.of(nic);
        return limits.strict()
                ? limits.name() + ": " + limits.bytesText() + " of a rank, divided between peers, "
                        + limits.largeWrites() + (limits.largeWrites() == 1 ? " write" : " writes") + " a queue pair"
                : limits.name() + ": as much as queue pairs hold";
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
