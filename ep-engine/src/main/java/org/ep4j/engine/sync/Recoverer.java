package org.ep4j.engine.sync;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.Recovery;
import org.ep4j.engine.membership.BufferMembership;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.Failures;
import org.ep4j.transport.NanoClock;

/**
 * Recovery of a buffer, and masks of ranks. To recover, the ranks agree on the members of the next epoch, then move the buffer into fresh
 * memory among these. A rank that is left out but runs can only reach the memory before, which no member uses any more.
 */
public final class Recoverer {
    private final Numbers numbers;
    private final Peers<?> peers;
    private final Waits waits;
    private final Bootstrap bootstrap;
    private final Way way;
    /**
     * The position to which this rank went back when a recovery last returned here. A recovery can return on some ranks only:
     * these go back to the smallest number that it reported and count from there, the others still count from an earlier
     * recovery. So ranks exchange positions, from which each computes what it reports: that may differ between ranks, but its
     * smallest number means the same operation on all of them. This holds too if a rank that was behind died before the others
     * had its number.
     */
    private long base;

    /** Ranks that have no part in the newest memory. */
    private Set<Integer> excluded = Set.of();

    private long maskClears;

    /** The operation numbers of an engine: how many operations of each kind this rank has begun. */
    public interface Numbers {
        /** High throughput, low-latency dispatch, low-latency combine. */
        long[] begun();

        /** Numbers the next operations after these, with nothing in flight. */
        void restart(long highThroughput, long dispatch, long combine);

        /** Makes what operations need to use fresh memory; gives what frees it. They use the memory before until {@link #moved}. */
        default Runnable prepare(SymmetricMemory fresh) {
            return () -> {};
        }

        /** The buffer has moved into fresh memory, and the high-throughput operations before it have numbers up to this one. */
        default void moved(SymmetricMemory fresh, long highThroughput) {}

        /**
         * Ends all use of the memories before the one in use, which are to be given back.
         *
         * @return false if something still uses one of them; then they are kept until the next recovery
         */
        default boolean freed() {
            return true;
        }
    }

    /**
     * What it takes to recover.
     *
     * @param membership of the buffer
     * @param memory makes the memory to which it moves
     */
    public record Resources(BufferMembership membership, FreshMemory memory) {}

    /**
     * How a buffer recovers.
     *
     * @param resources empty if it cannot
     * @param reason why it cannot
     */
    public record Way(Optional<Resources> resources, String reason) {}

    public Recoverer(Numbers numbers, Peers<?> peers, Waits waits, Bootstrap bootstrap, Way way) {
        this.numbers = numbers;
        this.peers = peers;
        this.waits = waits;
        this.bootstrap = bootstrap;
        this.way = way;
        way.resources().ifPresent(resources -> {
            BufferMembership membership = resources.membership();
            waits.watch(membership);
            peers.setWaitCheck(() -> membership.requireMember("post"));
        });
    }

    /**
     * See {@link org.ep4j.EpBuffer#recover}.
     *
     * @param completed operations that this rank has completed since this method last returned
     * @throws EpUnavailableException if the buffer cannot recover
     */
    public Recovery recover(long completed, Deadline deadline) {
        Resources resources = way.resources()
                .orElseThrow(() -> new EpUnavailableException(
                        "this buffer cannot recover: " + way.reason()
                                + "; close this buffer, and join a new group without the lost ranks",
                        EpException.Recourse.REJOIN));
        Map<Integer, Long> positions = move(resources, completed, deadline);
        Map<Integer, Long> done = new TreeMap<>();
        positions.forEach((rank, position) -> done.put(rank, position - base));
        base = Collections.min(positions.values());
        return Recovery.of(excluded, done);
    }

    /**
     * See {@link org.ep4j.EpBuffer#mask}.
     *
     * @param finished whether all operations that this rank has begun have ended well: then the rank has done its part of them,
     *     and neither writes nor reads here. If not, the buffer moves away from it
     * @param completed as in {@link #recover}
     * @throws EpStateException if the rank has not done its part, is not proved dead, and the buffer cannot move
     */
    public void mask(int rank, boolean finished, long completed, Deadline deadline) {
        Mask before = waits.mask();
        if (before.has(rank)) {
            return;
        }
        if (!finished && way.resources().isEmpty() && mayRun(rank)) {
            throw new EpStateException(
                    peers.label(rank) + " may still write to this rank's memory, since an operation that"
                            + " this rank began did not complete, and this buffer cannot move into other memory: "
                            + way.reason()
                            + "; if rank " + rank + " is on this host, end the process of rank " + rank
                            + " and call mask again; otherwise join a new group",
                    EpException.Recourse.REJOIN);
        }
        waits.mask(before.with(rank));
        if (!finished && way.resources().isPresent()) {
            try {
                move(way.resources().get(), completed, deadline);
            } catch (RuntimeException | Error e) {
                waits.mask(before);
                throw e;
            }
        }
    }

    /** False if a rank can do nothing any more, or has left, which it does when it has done its part. */
    private boolean mayRun(int rank) {
        return !bootstrap.isProvedDead(rank) && bootstrap.state(rank) != MemberState.LEFT;
    }

    /** Moves the buffer; gives the position of each member. */
    private Map<Integer, Long> move(Resources resources, long completed, Deadline deadline) {
        return resources
                .membership()
                .recover(
                        waits.mask().toSet(),
                        deadline.nanoTime(),
                        deadline.whole().toMillis(),
                        waits::requireRunning,
                        (members, ranks, epoch) -> move(resources, members, ranks, epoch, completed, deadline));
    }

    private Map<Integer, Long> move(
            Resources resources,
            Bootstrap members,
            List<Integer> ranks,
            long epoch,
            long completed,
            Deadline deadline) {
        FreshMemory memory = resources.memory();
        NanoClock clock = resources.membership().clock();
        // A buffer takes twice its memory at most, unless a thread is inside a call with memory from before.
        if (numbers.freed()) {
            memory.freeOlder();
        }
        SymmetricMemory fresh = memory.make(members, ranks, epoch, left(deadline, clock), numbers::prepare);
        List<byte[]> all = List.of();
        try {
            // The last step: when it returns, all members have mapped the memory of all.
            all = members.allGather("numbers", mine(completed), left(deadline, clock));
        } catch (EpTimeoutException e) {
            EpFailure ofMember = e.failure();
            EpFailure ofRank =
                    ofMember.toBuilder().peer(ranks.get(ofMember.peer())).build();
            throw Failures.with(e, peers.about(ofRank).build(), e.recourse());
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
        restart(most);
        return byRank;
    }

    private byte[] mine(long completed) {
        ByteBuffer mine = ByteBuffer.allocate(4 * Long.BYTES);
        for (long number : numbers.begun()) {
            mine.putLong(number);
        }
        return mine.putLong(base + completed).array();
    }

    /** A millisecond at least, so that a step which begins late still reports the missing rank. */
    private static Duration left(Deadline deadline, NanoClock clock) {
        return Duration.ofNanos(Math.max(1_000_000, deadline.nanoTime() - clock.nanoTime()));
    }

    /** Numbers the first operations of a new buffer. See {@link org.ep4j.config.EpKeys#FIRST_NUMBER}. */
    public void numberFrom(long first) {
        if (first > 1) {
            restart(new long[] {first - 1, first - 1, first - 1});
        }
    }

    /** Numbers the next operations after these. */
    private void restart(long[] most) {
        numbers.restart(most[0], most[1], most[2]);
        waits.restart(most[0], most[1], most[2]);
    }

    /** See {@link org.ep4j.EpBuffer#clearMasks}; {@code name} is the buffer's. */
    public void clearMasks(String name, Duration longest) {
        waits.requireMember("clear mask");
        for (int rank : waits.mask().toSet()) {
            if (excluded.contains(rank)) {
                throw notTakenBack(rank, "the buffer was moved into new memory without that rank");
            }
            if (bootstrap.state(rank) != MemberState.ALIVE) {
                throw notTakenBack(rank, "it is " + bootstrap.state(rank).name().toLowerCase(Locale.ROOT));
            }
        }
        maskClears++;
        try {
            meetUnmasked(name, longest);
        } catch (EpException e) {
            // As after a barrier, ranks may be one call apart; and to recover would leave out for good who is to be
            // unmasked.
            throw Failures.rejoin(e, failure -> peers.about(failure).build());
        }
    }

    private void meetUnmasked(String name, Duration longest) {
        Optional<EpPeerLostException> unreachable = settleAll();
        var mine = ByteBuffer.allocate(28);
        for (long number : numbers.begun()) {
            mine.putLong(number);
        }
        mine.putInt(unreachable.map(e -> e.failure().peer()).orElse(-1));
        long[] most = new long[3];
        List<byte[]> all = bootstrap.allGather(name + "-clear-mask-" + maskClears, mine.array(), longest);
        if (unreachable.isPresent()) {
            EpPeerLostException lost = unreachable.get();
            throw Failures.with(lost, lost.failure(), notUnmasked(lost.failure().peer()));
        }
        for (int r = 0; r < all.size(); r++) {
            var words = ByteBuffer.wrap(all.get(r));
            for (int i = 0; i < most.length; i++) {
                most[i] = Math.max(most[i], words.getLong());
            }
            int peer = words.getInt();
            if (peer >= 0) {
                throw notTakenBack(peer, "rank " + r + " cannot reach it");
            }
        }
        waits.mask(Mask.NONE);
        restart(most);
        // Nobody sends before everybody has taken the numbers.
        bootstrap.barrier(name + "-mask-cleared-" + maskClears, longest);
    }

    /**
     * Nothing of what was broken off may arrive later than what comes after: done before the ranks meet, so that all of them
     * learn of one that cannot be reached while all masks are still as they were.
     */
    private Optional<EpPeerLostException> settleAll() {
        for (int r = 0; r < peers.ranks(); r++) {
            try {
                peers.settle(r);
            } catch (EpPeerLostException e) {
                if (e.failure().peer() == peers.rank()) {
                    throw e;
                }
                return Optional.of(e);
            }
        }
        return Optional.empty();
    }

    private EpPeerLostException notTakenBack(int rank, String why) {
        return new EpPeerLostException(
                "rank " + rank + " cannot be unmasked: " + why + "; "
                        + (waits.mask().has(rank) ? "leave it masked, or join a new group" : "join a new group"),
                peers.about("clear mask", rank).build(),
                notUnmasked(rank));
    }

    /** Ranks that masked the lost one go on with the mask; neither that rank nor one that did not mask it can. */
    private EpException.Recourse notUnmasked(int rank) {
        return waits.mask().has(rank) ? EpException.Recourse.FIX_CALL : EpException.Recourse.REJOIN;
    }
}
