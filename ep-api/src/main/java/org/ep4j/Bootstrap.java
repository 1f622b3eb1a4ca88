package org.ep4j;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.apiguardian.api.API;

/**
 * Connection between ranks before any transport is up: all-gather of bytes, and states of members. Safe for use from
 * several threads; ranks call the collective methods with the same tags.
 *
 * <p>The static methods create ep4j's own bootstraps. They need the engine, which every backend brings; else they throw
 * {@link EpUnavailableException}.
 */
public interface Bootstrap extends AutoCloseable {
    /**
     * Creates {@code size} bootstraps for ranks that are threads of this process; index {@code i} belongs to rank
     * {@code i}.
     *
     * @throws EpArgumentException when {@code size} is below 1
     */
    static List<Bootstrap> inProcess(int size) {
        return EpEngine.installed().inProcess(size);
    }

    /**
     * Joins the group that a launcher describes in the environment of this process: by torchrun's variables if all four are
     * set, or by the variables of PMIx ({@code mpirun}, {@code srun}) if neither {@code RANK} nor {@code WORLD_SIZE} is set.
     * {@code MASTER_ADDR} and {@code MASTER_PORT} alone name no launcher. Collective over all ranks.
     *
     * @throws EpUnavailableException when no launcher is recognised; says which variables would be
     */
    static Bootstrap fromEnvironment(EpConfig config) {
        return EpEngine.installed().fromEnvironment(System.getenv(), config);
    }

    /**
     * Joins over TCP with an explicit rank, size and address, without a launcher's variables. Rank 0 listens on the port of
     * {@code rankZero} and serves the others, also for a while after its own {@code close}
     * ({@code ep.bootstrap.linger}); all threads are daemons. Collective over all ranks.
     *
     * <p>When rank 0 dies, or has left and its linger time is over, the others cannot gather any more: calls end with
     * {@link EpPeerLostException} for rank 0, and no state changes any more.
     *
     * @param rank this rank, from 0
     * @param size number of ranks
     * @param rankZero name or address of the machine of rank 0, and a port there, 1 to 65535; taken as it is written, so make
     *     it with {@link InetSocketAddress#createUnresolved}. Rank 0 listens on exactly this address if it is numeric
     *     or {@code localhost}; if it is another name, on all addresses, or on an address of {@code
     *     ep.bootstrap.interface}
     * @param config {@code ep.setup-timeout} and the settings {@code ep.bootstrap.*}, except address and port, are used
     * @throws EpConfigException when rank or size is out of range, the port is 0, or the host is empty; or when a setting
     *     {@code ep.bootstrap.*} is malformed, or names no interface of this machine
     * @throws EpTimeoutException naming the ranks that did not join, or why rank 0 was not reached; with {@link
     *     EpException.Recourse#REJOIN}
     * @throws EpPeerLostException when rank 0 is lost meanwhile, with {@link EpException.Recourse#REJOIN}
     * @throws EpUnavailableException when the port is taken, or rank 0 refused this rank: another secret, number of ranks or
     *     protocol version, or a rank that somebody else has
     */
    static Bootstrap tcp(int rank, int size, InetSocketAddress rankZero, EpConfig config) {
        return EpEngine.installed().tcp(rank, size, rankZero, config);
    }

    /**
     * Joins over TCP if the ranks know their rank numbers but not the address of rank 0, and {@code launcher} can carry a
     * few bytes from rank 0 to the others. Rank 0 listens on a port that the system chooses ({@code ep.bootstrap.port}
     * where it is set), on all addresses of its machine or on one of {@code ep.bootstrap.interface}, and sends these addresses, the port and a random secret to the other
     * ranks through {@code launcher}. That secret counts, and {@code ep.bootstrap.secret} does not. Everything else is as
     * with {@link #tcp}. Collective over all ranks.
     *
     * @param rank this rank, from 0
     * @param size number of ranks
     * @param launcher carries a secret, so only the ranks may be able to read the bytes
     * @param config {@code ep.setup-timeout} and the settings {@code ep.bootstrap.*}, except address and secret, are
     *     used
     * @throws EpConfigException when rank or size is out of range, and for settings as with {@link #tcp}
     * @throws EpTimeoutException naming the ranks that did not join, or why rank 0 was not reached; with {@link
     *     EpException.Recourse#REJOIN}
     * @throws EpPeerLostException when rank 0 is lost meanwhile, with {@link EpException.Recourse#REJOIN}
     * @throws EpUnavailableException when rank 0 refused this rank, or runs another version
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    static Bootstrap over(int rank, int size, Broadcast launcher, EpConfig config) {
        return EpEngine.installed().over(rank, size, launcher, config);
    }

    /** Number of this member, 0 to {@link #size()} - 1. */
    int rank();

    /** Number of members. */
    int size();

    /**
     * Gives every member the bytes of all members. Collective; calls with different tags may overlap, a tag is used
     * once.
     *
     * @param tag names the exchange; the same on all members, unique in the life of this bootstrap
     * @param mine this member's bytes, at most 16 MiB
     * @param timeout longest time the call may take
     * @return one array a member, in rank order
     * @throws EpTimeoutException naming the members that did not take part; {@link EpFailure#peer()} of its failure
     *     is a rank of this bootstrap, or -1 when more than one is missing
     * @throws EpPeerLostException when a member that had not yet taken part is lost or has left; {@link
     *     EpFailure#peer()} of its failure is a rank of this bootstrap, or -1 for a rank outside it that carried the
     *     exchange
     * @throws EpArgumentException when the tag or the bytes are too long
     * @throws EpStateException when this bootstrap is closed, or another thread uses the tag at this moment
     */
    List<byte[]> allGather(String tag, byte[] mine, Duration timeout);

    /**
     * Waits until all members have called this method with {@code tag}; throws the same exceptions as {@link
     * #allGather}.
     */
    default void barrier(String tag, Duration timeout) {
        allGather(tag, new byte[0], timeout);
    }

    /**
     * State of a member as far as this rank knows; a member in another state never becomes {@link MemberState#ALIVE} again. Does not
     * block.
     */
    MemberState state(int rank);

    /**
     * Returns true if every member that is {@link MemberState#LOST} is certainly dead, not only silent. This is so
     * where members are threads, because a thread is lost only if it was declared dead.
     */
    default boolean provesLosses() {
        return false;
    }

    /**
     * Returns true if a member is certainly dead: it can neither write nor read memory of others. A member that is only
     * silent may still read and write, so it is not proved dead. Never goes back to false. Does not block.
     */
    default boolean isProvedDead(int rank) {
        return provesLosses() && state(rank) == MemberState.LOST;
    }

    /**
     * A number that grows whenever some {@link #state} changes. Any thread may read it; it is one volatile read, cheap enough
     * for a polling loop.
     */
    long stateChanges();

    /**
     * A bootstrap over some of the members, with its own tags and with ranks numbered in the order of {@code ranks}. All
     * of these members call it with the same arguments, in any order relative to other calls. Closing it leaves this one
     * open; closing this one closes it.
     *
     * @param name unique in the life of this bootstrap
     * @param ranks members of this bootstrap, this one among them
     * @throws EpArgumentException when a rank is not a member, or named twice, or this one is not among them
     * @throws EpStateException when this bootstrap is closed, or the name is in use
     */
    Bootstrap subgroup(String name, List<Integer> ranks);

    /** Leaves the group: the others see {@link MemberState#LEFT}. A second call does nothing. */
    @Override
    void close();

    /**
     * Carries a few bytes from rank 0 to all other ranks before they have a bootstrap, as MPI, Spark or a key-value store
     * can. It is used once, by every rank of the job.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    @FunctionalInterface
    interface Broadcast {
        /**
         * Passes the bytes of rank 0 to every rank; collective over all ranks.
         *
         * @param mine bytes that rank 0 passes on, at most a few KB; empty on all other ranks
         * @param timeout longest time the call may take
         * @return the bytes of rank 0
         * @throws EpException with reason and remedy
         */
        byte[] fromRankZero(byte[] mine, Duration timeout);
    }

    /** State of a member as far as a bootstrap knows. Constants may be added: keep a {@code default} where you switch over them. */
    enum MemberState {
        /** Neither left nor lost, as far as this rank knows. */
        ALIVE,
        /** It closed its bootstrap in good order. */
        LEFT,
        /**
         * Its process died, its connection broke, or it was silent for {@code ep.bootstrap.heartbeat-timeout}; it may
         * still run unless {@link Bootstrap#isProvedDead}.
         */
        LOST
    }
}
