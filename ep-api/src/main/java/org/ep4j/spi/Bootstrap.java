package org.ep4j.spi;

import java.time.Duration;
import java.util.List;

/**
 * How ranks find each other before any transport is up: all-gather of bytes, and news about members. Safe for use from
 * several threads; ranks call the collective methods with the same tags.
 */
public interface Bootstrap extends AutoCloseable {
    /** This member's number, 0 to {@link #size()} - 1. */
    int rank();

    /** Number of members. */
    int size();

    /**
     * Gives every member the bytes of all members. Collective; calls with different tags may overlap, a tag is used
     * once.
     *
     * @param tag names the exchange; the same on all members, unique in the life of this bootstrap
     * @param mine this member's bytes, at most 16 MiB
     * @param deadline longest time the call may take
     * @return one array a member, in rank order
     * @throws org.ep4j.EpTimeoutException naming the members that did not take part; its peer is a rank of this bootstrap,
     *     or -1 when more than one is missing
     * @throws org.ep4j.EpPeerLostException when a member that had not yet taken part is lost or has left; its peer is a rank
     *     of this bootstrap, or -1 for a rank outside it that carried the exchange
     * @throws org.ep4j.EpArgumentException when the tag or the bytes are too long
     * @throws org.ep4j.EpStateException when this bootstrap is closed, or another thread uses the tag at this moment
     */
    List<byte[]> allGather(String tag, byte[] mine, Duration deadline);

    /**
     * Waits until all members have called this method with {@code tag}; throws the same exceptions as {@link
     * #allGather}.
     */
    default void barrier(String tag, Duration deadline) {
        allGather(tag, new byte[0], deadline);
    }

    /**
     * What is known about a member; a member in another state never becomes {@link MemberState#ALIVE} again. Does not
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
     * silent can. Never goes back to false. Does not block.
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
     * @throws org.ep4j.EpArgumentException when a rank is not a member, or named twice, or this one is not among them
     * @throws org.ep4j.EpStateException when this bootstrap is closed, or the name is in use
     */
    Bootstrap subgroup(String name, List<Integer> ranks);

    /** Leaves the group: the others see {@link MemberState#LEFT}. A second call does nothing. */
    @Override
    void close();
}
