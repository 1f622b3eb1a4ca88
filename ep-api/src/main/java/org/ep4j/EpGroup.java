package org.ep4j;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.EpPlan;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.EpRuntime;
import org.ep4j.spi.LinkTraffic;
import org.ep4j.spi.TrafficSource;

/**
 * This rank's membership in a set of ranks that exchange tokens. Joining probes the machine, agrees on a plan and opens
 * the backends that the plan uses. Safe for use from several threads, as long as all ranks make the collective calls in
 * the same order.
 */
public interface EpGroup extends AutoCloseable {
    /**
     * Joins a group with the environment of a launcher ({@link Bootstraps#fromEnvironment}) and
     * {@link EpConfig#load()}.
     */
    static EpGroup join() {
        EpConfig config = EpConfig.load();
        return join(Bootstraps.fromEnvironment(System.getenv(), config), config);
    }

    /**
     * Joins a group. Collective over the members of {@code bootstrap}, which the group closes at its end.
     *
     * @throws EpConfigException for an unknown or malformed setting
     * @throws EpMismatchException when ranks have different settings where they must agree
     * @throws EpUnavailableException when a device, or a path between two ranks, is missing; with every reason
     */
    static EpGroup join(Bootstrap bootstrap, EpConfig config) {
        return EpRuntime.installed().join(bootstrap, config);
    }

    /** Rank of this member, from 0. */
    int rank();

    /** R, number of ranks, lost ones included. */
    int size();

    /** Device of this rank. */
    EpDevice device();

    /** Which path every pair of ranks takes, and why. */
    EpPlan plan();

    /**
     * Ranks that this rank knows to be lost: their process died, their connection broke, or they were silent for longer
     * than the heartbeat timeout.
     */
    Set<Integer> lostRanks();

    /** What this rank has sent over each backend that counts its traffic ({@link TrafficSource}), by backend id. */
    Map<String, List<LinkTraffic>> traffic();

    /**
     * Exact number of bytes that a buffer of this shape takes on this rank; computed without allocating anything.
     *
     * @throws EpArgumentException when the shape does not fit the group
     * @throws EpUnavailableException when the engine cannot use the paths of the plan together, on all ranks alike
     */
    BufferSize bufferSize(EpShape shape);

    /**
     * Creates a buffer. Collective, with the same shape on all ranks; when it fails on one rank it fails on all.
     *
     * @throws EpMismatchException naming the ranks and the sizes that differ
     * @throws EpResourceException when a machine has too little memory for it
     */
    EpBuffer createBuffer(EpShape shape);

    /**
     * Waits until all ranks that are not lost have called this method.
     *
     * @throws EpTimeoutException when a rank does not come
     * @throws EpPeerLostException when a rank has left, or the rank is lost that carries the bootstrap (rank 0 of the TCP
     *     rendezvous); operations of buffers go on without it all the same
     */
    void barrier(Duration deadline);

    /** Closes the buffers that are still open, the backends and the bootstrap; never waits for other ranks. */
    @Override
    void close();
}
