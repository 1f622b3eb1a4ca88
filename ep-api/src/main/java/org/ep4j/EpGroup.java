package org.ep4j;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.apiguardian.api.API;

/**
 * This rank's membership in a set of ranks that exchange tokens. Joining probes the machine, agrees on a plan and opens
 * the backends that the plan uses. Safe for use from several threads, as long as all ranks make the collective calls in
 * the same order. Only ep4j implements this interface; it may gain methods.
 */
public interface EpGroup extends AutoCloseable {
    /**
     * Joins the group that the launcher's environment describes, with {@link EpConfig#load()}; see
     * {@link #join(EpConfig)}.
     */
    static EpGroup join() {
        return join(EpConfig.load());
    }

    /**
     * Joins the group that the launcher's environment describes ({@link Bootstrap#fromEnvironment}); see
     * {@link #join(Bootstrap, EpConfig)}.
     */
    static EpGroup join(EpConfig config) {
        return join(Bootstrap.fromEnvironment(config), config);
    }

    /**
     * Joins a group and takes over {@code bootstrap}: {@link #close} closes it, and so does a join that fails.
     * Collective over its members; waits at most {@code ep.setup-timeout} for the others in each step.
     *
     * @throws EpConfigException for an unknown or malformed setting
     * @throws EpMismatchException when ranks have different settings where they must agree
     * @throws EpUnavailableException when a device, or a path between two ranks, is missing; with every reason
     * @throws EpPeerLostException when a rank leaves or dies meanwhile, with {@link EpException.Recourse#REJOIN}
     * @throws EpTimeoutException when a rank does not answer, with {@link EpException.Recourse#REJOIN}
     */
    static EpGroup join(Bootstrap bootstrap, EpConfig config) {
        return EpEngine.installed().join(bootstrap, config);
    }

    /** Rank of this member, from 0. */
    int rank();

    /** R, number of ranks, lost ones included. */
    int size();

    /** Device of this rank. */
    EpDevice device();

    /** Path of every pair of ranks, with the reasons. */
    EpPlan plan();

    /**
     * Ranks that this rank knows to be lost: their process died, their connection broke, or they were silent for longer
     * than the heartbeat timeout.
     */
    Set<Integer> lostRanks();

    /** Traffic that this rank has sent over each backend that counts it, by backend id and then by rank of the peer. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    List<EpTraffic> traffic();

    /**
     * Exact number of bytes that a buffer of this shape takes on this rank; computed without allocating anything. On a GPU, local
     * memory is taken when it is used first, see {@link BufferSize#parts}.
     *
     * @throws EpArgumentException when the shape does not fit the group
     * @throws EpUnavailableException when the engine cannot use the paths of the plan together, on all ranks alike
     */
    BufferSize bufferSize(EpShape shape);

    /**
     * Creates a buffer. Collective, with the same shape on all ranks; when it fails on one rank it fails on all. Each
     * step waits at most {@code ep.setup-timeout} for the other ranks.
     *
     * @throws EpArgumentException when the shape does not fit the group
     * @throws EpMismatchException naming the ranks and the sizes that differ
     * @throws EpResourceException when a machine has too little memory for it. On a GPU operations can throw it, too, when they take
     *     memory for results, unless the shape says {@link EpShape.Builder#preallocate}
     * @throws EpUnavailableException stopped by other ranks, with their reasons, or when the engine cannot use the
     *     paths of the plan together
     * @throws EpTimeoutException when a rank does not answer, with {@link EpException.Recourse#REJOIN}
     * @throws EpPeerLostException when a rank has left or is lost, with {@link EpException.Recourse#REJOIN}
     * @throws EpStateException when the group is closed
     */
    EpBuffer createBuffer(EpShape shape);

    /**
     * Waits until all ranks that are not lost have called this method.
     *
     * @param timeout longest wait; it begins again when a rank is lost meanwhile
     * @throws EpTimeoutException when a rank does not answer, with {@link EpException.Recourse#REJOIN}: later barriers would
     *     not be the same call on all ranks
     * @throws EpPeerLostException when a rank has left, or the rank is lost that carries the bootstrap (rank 0 of the TCP
     *     rendezvous), with {@link EpException.Recourse#REJOIN}; operations of buffers go on without it all the same
     */
    void barrier(Duration timeout);

    /** Closes the buffers that are still open, the backends and the bootstrap; never waits for other ranks. */
    @Override
    void close();
}
