package org.ep4j.engine.sync;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.engine.membership.BufferMembership;
import org.ep4j.spi.Bootstrap;

/**
 * Recovery of a buffer that can be made anew among some of its ranks: the ranks agree on the members of the next epoch, then move the buffer
 * into fresh memory among these. A rank that is left out but runs can only reach the memory before, which no member uses any more.
 */
public final class MovingRecoverer {
    private final Recoverer.Numbers numbers;
    private final Peers<?> peers;
    private final Waits waits;
    private final BufferMembership membership;
    private final FreshMemory memory;
    private final Progress progress = new Progress();

    /** Ranks that have no part in the newest memory. */
    private Set<Integer> excluded = Set.of();

    /**
     * What it takes to recover in this way.
     *
     * @param membership of the buffer
     * @param memory makes the memory to which it moves
     */
    public record Resources(BufferMembership membership, FreshMemory memory) {}

    /** For one buffer. */
    public MovingRecoverer(Recoverer.Numbers numbers, Peers<?> peers, Waits waits, Resources resources) {
        this.numbers = numbers;
        this.peers = peers;
        this.waits = waits;
        this.membership = resources.membership();
        this.memory = resources.memory();
        waits.membership(membership);
    }

    /**
     * See {@link org.ep4j.EpBuffer#recover}.
     *
     * @param completed operations that this rank has completed since this method last returned
     */
    public Recovery recover(long completed, Deadline deadline) {
        Map<Integer, Long> positions = move(completed, deadline);
        return new Recovery(excluded, progress.recovered(positions));
    }

    /**
     * See {@link org.ep4j.EpBuffer#mask}.
     *
     * @param finished whether all operations that this rank has begun have ended well: then the rank has done its part of them,
     *     and neither writes nor reads here. If not, the buffer moves away from it
     * @param completed as in {@link #recover}
     */
    public void mask(int rank, boolean finished, long completed, Deadline deadline) {
        Mask before = waits.mask();
        if (before.has(rank)) {
            return;
        }
        waits.mask(before.with(rank));
        if (!finished) {
            try {
                move(completed, deadline);
            } catch (RuntimeException e) {
                waits.mask(before);
                throw e;
            }
        }
    }

    /** Moves the buffer; gives the position of each member. */
    private Map<Integer, Long> move(long completed, Deadline deadline) {
        return membership.recover(
                waits.mask().toSet(),
                deadline.nanos(),
                deadline.whole().toMillis(),
                waits::requireRunning,
                (members, ranks, epoch) -> move(members, ranks, epoch, completed, deadline));
    }

    private Map<Integer, Long> move(
            Bootstrap members, List<Integer> ranks, long epoch, long completed, Deadline deadline) {
        // A buffer takes twice its memory at most.
        numbers.freed();
        memory.freeOlder();
        SymmetricMemory fresh = memory.make(members, ranks, epoch, left(deadline), numbers::prepare);
        List<byte[]> all = List.of();
        try {
            // The last step: when it returns, all members have mapped the memory of all.
            all = members.allGather("numbers", mine(completed), left(deadline));
        } catch (EpTimeoutException e) {
            throw new EpTimeoutException(
                    String.valueOf(e.getMessage()), e.phase(), ranks.get(e.peer()), e.expected(), e.seen());
        } finally {
            if (all.isEmpty()) {
                memory.dropNewest();
            }
        }
        long[] most = new long[3];
        Map<Integer, Long> byRank = new TreeMap<>();
        for (int i = 0; i < ranks.size(); i++) {
            ByteBuffer theirs = ByteBuffer.wrap(all.get(i));
            for (int kind = 0; kind < most.length; kind++) {
                most[kind] = Math.max(most[kind], theirs.getLong());
            }
            byRank.put(ranks.get(i), theirs.getLong());
        }
        Set<Integer> out = new TreeSet<>();
        for (int r = 0; r < peers.ranks(); r++) {
            if (!ranks.contains(r)) {
                out.add(r);
            }
        }
        peers.moveTo(fresh);
        excluded = Set.copyOf(out);
        waits.mask(Mask.of(out));
        numbers.moved(fresh, most[0]);
        numbers.restart(most[0], most[1], most[2]);
        waits.restart(most[0], most[1], most[2]);
        return byRank;
    }

    private byte[] mine(long completed) {
        ByteBuffer mine = ByteBuffer.allocate(4 * Long.BYTES);
        for (long number : numbers.begun()) {
            mine.putLong(number);
        }
        return mine.putLong(progress.position(completed)).array();
    }

    /** A millisecond at least, so that a step which begins late still reports the missing rank. */
    private Duration left(Deadline deadline) {
        return Duration.ofNanos(
                Math.max(1_000_000, deadline.nanos() - membership.clock().nanoTime()));
    }

    /** Refuses to take back ranks that have no part in the buffer's memory. */
    public void requireTakenBack(Set<Integer> masked) {
        for (int rank : masked) {
            if (excluded.contains(rank)) {
                throw new EpPeerLostException(
                        "rank " + rank + " cannot be taken back: the buffer was moved into fresh memory without it;"
                                + " leave it masked, or join a new group",
                        rank,
                        "clear mask");
            }
        }
    }
}
