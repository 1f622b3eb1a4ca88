package org.ep4j.spi;

import java.time.Duration;
import java.util.List;

/**
 * How ranks find each other before any transport is up: all-gather of bytes, and news about members. Safe for use from
 * several threads; ranks call the collective methods with the same tags.
 *
 * <p>No single rank is needed. Where one member, the hub, carries the gathers and is lost, gathers under way end, and the
 * lowest rank that is not lost takes its place; gathers that begin afterwards work among those who remain. Where the hub
 * leaves in good order, gathers under way go on at the next one.
 *
 * <p>A member that the others hold lost, though it lives, learns that it is out: its own state becomes {@link
 * MemberState#LOST}. Where members hold each other lost and meet again, the group with fewer living members yields, and of
 * two equal ones that without the lowest rank; so of two ranks the higher one is out. Groups that do not reach each other
 * cannot decide this, and both go on gathering: {@link #state} is what a member has seen, not what all have agreed upon.
 */
public interface Bootstrap extends AutoCloseable {
    /** This member's number, 0 to {@link #size()} - 1. */
    int rank();

    /** Number of members. */
    int size();

    /**
     * Gives every member the bytes of all. Collective; calls with different tags may overlap, a tag is used once.
     *
     * @param tag names the exchange; the same on all members, unique in the life of this bootstrap
     * @param mine this member's bytes, at most 16 MiB
     * @param deadline longest time the call may take
     * @return one array a member, in rank order
     * @throws org.ep4j.EpTimeoutException naming the members that did not take part; its peer is a rank of this bootstrap,
     *     or -1 when more than one is missing
     * @throws org.ep4j.EpPeerLostException when a member that had not yet taken part is lost or has left; its peer is a rank
     *     of this bootstrap, or -1 for a rank outside it that carried the exchange and was lost during it. At once, with
     *     this member as the peer, when the others hold this member lost
     * @throws org.ep4j.EpArgumentException when the tag or the bytes are too long
     * @throws org.ep4j.EpStateException when this bootstrap is closed, or another thread uses the tag at this moment
     */
    List<byte[]> allGather(String tag, byte[] mine, Duration deadline);

    /** Returns when all members have called it with this tag; throws as {@link #allGather}. */
    default void barrier(String tag, Duration deadline) {
        allGather(tag, new byte[0], deadline);
    }

    /**
     * What is known about a member; never goes back to {@link MemberState#ALIVE}. Does not block. This member's own state is
     * {@link MemberState#LOST} when the others hold it lost, and {@link MemberState#LEFT} after {@link #close}.
     */
    MemberState state(int rank);

    /** Grows whenever some {@link #state} changes; one volatile read, cheap enough for a polling loop. */
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

    /** Leaves in good order: the others see {@link MemberState#LEFT}. A second call does nothing. */
    @Override
    void close();
}
