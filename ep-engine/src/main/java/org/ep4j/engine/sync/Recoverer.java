package org.ep4j.engine.sync;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.Recovery;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;

/**
 * Agreement of the survivors over the buffer itself, so that it works also when the rank that held the bootstrap is the
 * one that died. In every round each rank publishes its operation numbers and the ranks it holds lost. After a round in
 * which all published the same set it confirms that set in the next one, and a round of confirmations alone ends it: so
 * what a rank published before it gave up waiting cannot be taken for its agreement.
 *
 * <p>A rank that can no longer be posted to is held lost like one that died, although it may live: it is told so in the
 * first round in which it hears of it, or finds that it reaches the fewer of those that live.
 */
public final class Recoverer {
    /** Word of a block. */
    private static final int CONFIRMING = 5;

    private static final long PAUSE_NANOS = 1_000_000;

    private final Numbers numbers;
    private final Peers<?> peers;
    private final Waits waits;
    private final Bootstrap bootstrap;
    private final Progress progress = new Progress();
    /** Numbers of operations after which all ranks began anew, see {@link Numbers#restart}. */
    private long[] restarted = new long[3];

    private long round;
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

        /** The memory that was used before the last move is given back. */
        default void freed() {}
    }

    /** Over the counters that {@code waits} looks at. */
    public Recoverer(Numbers numbers, Peers<?> peers, Waits waits, Bootstrap bootstrap) {
        this.numbers = numbers;
        this.peers = peers;
        this.waits = waits;
        this.bootstrap = bootstrap;
    }

    /**
     * See {@link org.ep4j.EpBuffer#mask}.
     *
     * @param finished whether all operations that this rank has begun have ended well: then the rank has done its part of them,
     *     and neither writes nor reads here
     * @throws EpStateException if it has not, and can neither be cut off nor is proved dead
     */
    public void mask(int rank, boolean finished) {
        if (!waits.mask().has(rank)) {
            if (peers.canCutOff(rank)) {
                if (mayStillPost(rank)) {
                    peers.disconnect(rank);
                }
            } else if (!finished && mayRun(rank)) {
                throw new EpStateException(
                        peers.label(rank) + " may still be in an operation that this rank has begun, and"
                                + " cannot be kept from writing to this rank's memory; let all ranks call recover first, or end its"
                                + " process and call mask again");
            }
        }
        waits.mask(waits.mask().with(rank));
    }

    /** False if a rank can do nothing any more, or has left, which it does when it has done its part. */
    private boolean mayRun(int rank) {
        return !bootstrap.isProvedDead(rank) && bootstrap.state(rank) != MemberState.LEFT;
    }

    /**
     * True unless a rank has told that everything is here which it posts for the operations that this rank has begun with
     * it. It may be in one of them, or come to it later: its rows would go where later operations have theirs. A dispatch of
     * low latency is an order for a combine, which nobody asks back for.
     */
    private boolean mayStillPost(int rank) {
        long[] begun = numbers.begun();
        try {
            return lacks(Counter.HT_DATA, rank, 0, begun)
                    || lacks(Counter.LL_COMBINE, rank, 2, begun)
                    || begun[1] - restarted[1] != begun[2] - restarted[2];
        } catch (EpPeerLostException e) {
            return true;
        }
    }

    private boolean lacks(Counter counter, int rank, int kind, long[] begun) {
        return begun[kind] > restarted[kind] && !peers.reached(counter, rank, begun[kind]);
    }

    /**
     * See {@link org.ep4j.EpBuffer#recover}.
     *
     * @param completed operations that this rank has completed since this method last returned
     */
    public Recovery recover(long completed, Deadline deadline) {
        Set<Integer> lost = new TreeSet<>(waits.mask().toSet());
        boolean confirming = false;
        round = Math.max(round, newestRound(lost) - 1);
        while (true) {
            Set<Integer> before = Set.copyOf(lost);
            settle(lost);
            addLost(lost);
            confirming &= lost.equals(before);
            round++;
            Set<Integer> union = publish(lost, completed, confirming);
            Map<Integer, long[]> heads = new TreeMap<>();
            boolean agreed = true;
            boolean confirmed = true;
            for (int r = 0; r < peers.ranks(); r++) {
                // Also a rank that another survivor holds lost: it will not publish, and is masked in this wait.
                if (union.contains(r) || !await(r, union, deadline)) {
                    agreed &= lost.contains(r);
                    continue;
                }
                long[] head = peers.readBlock(Block.RECOVER, round, r);
                requireRound(head[0], r);
                heads.put(r, head);
                Set<Integer> theirs = readSet(r);
                agreed &= theirs.equals(lost);
                confirmed &= head[CONFIRMING] != 0;
                union.addAll(theirs);
            }
            if (agreed && confirmed) {
                return adopt(lost, heads, deadline);
            }
            confirming = agreed;
            lost = union;
            if (lost.contains(peers.rank())) {
                throw new EpPeerLostException(
                        "the other ranks hold this rank (" + peers.rank()
                                + ") lost and go on without it; close the buffer",
                        peers.rank(),
                        "recover");
            }
        }
    }

    private void requireRound(long published, int rank) {
        if (published != round) {
            throw new EpException("what " + peers.label(rank) + " published for the recovery is of round " + published
                    + ", but its counter says round " + round
                    + ": its counter has arrived before the data, a defect of the backend; close the buffer");
        }
    }

    /** The newest round that some rank has begun; ranks that cannot be heard any more become {@code lost}. */
    private long newestRound(Set<Integer> lost) {
        long newest = 0;
        for (int r = 0; r < peers.ranks(); r++) {
            if (!lost.contains(r)) {
                try {
                    newest = Math.max(newest, peers.seen(Counter.RECOVER, r));
                } catch (EpPeerLostException e) {
                    lost.add(r);
                }
            }
        }
        return newest;
    }

    /**
     * Nothing of what was broken off may arrive later than what comes after the recovery; nor may a rank's block arrive later than
     * that of two rounds after, which has its place: a rank that joins in a later round has waited for none before.
     */
    private void settle(Set<Integer> lost) {
        for (int r = 0; r < peers.ranks(); r++) {
            if (!lost.contains(r)) {
                try {
                    peers.settle(r);
                } catch (EpPeerLostException e) {
                    lost.add(r);
                }
            }
        }
    }

    private void addLost(Set<Integer> lost) {
        for (int r = 0; r < peers.ranks(); r++) {
            if (bootstrap.state(r) != MemberState.ALIVE) {
                lost.add(r);
            }
        }
    }

    /** Waits for a rank's publication; false when it dies meanwhile, which puts it into {@code union}. */
    private boolean await(int rank, Set<Integer> union, Deadline deadline) {
        Mask before = waits.mask();
        // Others that are known to be lost must not end this wait.
        waits.mask(Mask.of(union));
        try {
            waits.await(Counter.RECOVER, rank, round, deadline, "recover");
            return true;
        } catch (EpPeerLostException e) {
            union.add(e.peer());
            return e.peer() != rank && await(rank, union, deadline);
        } finally {
            waits.mask(before);
        }
    }

    /** Gives those that are held lost now: {@code lost} and whoever could not be told. */
    private Set<Integer> publish(Set<Integer> lost, long completed, boolean confirming) {
        Set<Integer> union = new TreeSet<>(lost);
        long[] begun = numbers.begun();
        long[] words = {round, begun[0], begun[1], begun[2], progress.position(completed), confirming ? 1 : 0, 0, 0};
        int[] held = new int[peers.ranks()];
        lost.forEach(r -> held[r] = 1);
        for (int r = 0; r < peers.ranks(); r++) {
            if (lost.contains(r)) {
                continue;
            }
            try {
                peers.writeBlock(r, Block.RECOVER, round, words, held);
                peers.advance(r, Counter.RECOVER, round);
            } catch (EpPeerLostException e) {
                union.add(r);
            }
        }
        return union;
    }

    private Set<Integer> readSet(int rank) {
        Set<Integer> set = new TreeSet<>();
        long ints = peers.layout().block(Block.RECOVER, round, rank) + BufferLayout.blockInts();
        for (int q = 0; q < peers.ranks(); q++) {
            if (peers.writtenBy(rank).getInt(ints + 4L * q) != 0) {
                set.add(q);
            }
        }
        return set;
    }

    private Recovery adopt(Set<Integer> lost, Map<Integer, long[]> heads, Deadline deadline) {
        long[] most = new long[4];
        Map<Integer, Long> positions = new TreeMap<>();
        heads.forEach((rank, words) -> {
            for (int i = 1; i < most.length; i++) {
                most[i] = Math.max(most[i], words[i]);
            }
            positions.put(rank, words[4]);
        });
        requireMost(lost, deadline);
        requireKeptOut(lost, deadline);
        for (int rank : lost) {
            // A rank that was masked before was cut off, or had ended, then.
            if (!waits.mask().has(rank)) {
                peers.disconnect(rank);
            }
        }
        waits.mask(Mask.of(lost));
        waits.recovered(round);
        number(most[1], most[2], most[3]);
        return new Recovery(lost, progress.recovered(positions));
    }

    /**
     * Who reaches the fewer of the ranks that live has been given up by the others, and does not go on for itself. That a rank
     * has died may be known later than that it cannot be reached.
     */
    private void requireMost(Set<Integer> lost, Deadline deadline) {
        while (true) {
            int alive = 0;
            int reached = 0;
            for (int r = 0; r < peers.ranks(); r++) {
                if (!waits.mask().has(r) && bootstrap.state(r) == MemberState.ALIVE) {
                    alive++;
                    reached += lost.contains(r) ? 0 : 1;
                }
            }
            if (2 * reached >= alive) {
                return;
            }
            if (deadline.passed() || waits.isClosing()) {
                throw new EpPeerLostException(
                        "this rank (" + peers.rank() + ") can go on with " + reached + " of the " + alive
                                + " ranks that live, itself among them: the others have given it up or cannot be"
                                + " reached; close the buffer",
                        peers.rank(),
                        "recover");
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /**
     * Waits until the processes have ended of lost ranks that cannot be cut off: the memory of the buffer is used again, and they could
     * still write to it or read it. A rank that was masked before was cut off, or had ended, then.
     */
    private void requireKeptOut(Set<Integer> lost, Deadline deadline) {
        for (int rank : lost) {
            while (!waits.mask().has(rank) && !peers.canCutOff(rank) && mayRun(rank)) {
                waits.requireRunning();
                if (deadline.passed()) {
                    throw new EpTimeoutException(
                            peers.label(rank) + " is lost, but nothing proves within "
                                    + deadline.whole().toMillis()
                                    + " ms that its process has ended, and it cannot be kept from writing to this rank's"
                                    + " memory; end its process (kill -9) and call recover again, or join a new group",
                            "recover",
                            rank,
                            1,
                            0);
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    /** See {@link org.ep4j.EpBuffer#clearMask}; {@code name} is the buffer's. */
    public void clearMask(String name, Duration longest) {
        for (int rank : waits.mask().toSet()) {
            if (bootstrap.state(rank) != MemberState.ALIVE) {
                throw notTakenBack(rank, "it is " + bootstrap.state(rank).name().toLowerCase(Locale.ROOT));
            }
        }
        maskClears++;
        Optional<EpPeerLostException> unreachable = settleAll();
        var mine = ByteBuffer.allocate(28);
        for (long number : numbers.begun()) {
            mine.putLong(number);
        }
        mine.putInt(unreachable.map(EpPeerLostException::peer).orElse(-1));
        long[] most = new long[3];
        List<byte[]> all = bootstrap.allGather(name + "-clear-mask-" + maskClears, mine.array(), longest);
        if (unreachable.isPresent()) {
            throw unreachable.get();
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
        number(most[0], most[1], most[2]);
        // Nobody sends before everybody has taken the numbers.
        bootstrap.barrier(name + "-mask-cleared-" + maskClears, longest);
    }

    /**
     * Nothing of what was broken off may arrive later than what comes after: done before the ranks meet, so that all of them
     * learn of one that cannot be reached while all masks are still as they were.
     */
    private Optional<EpPeerLostException> settleAll() {
        for (int r = 0; r < peers.ranks(); r++) {
            if (peers.isDisconnected(r)) {
                return Optional.of(notTakenBack(
                        r, "it was cut off from this rank when it was masked, since it could still have written"));
            }
            try {
                peers.settle(r);
            } catch (EpPeerLostException e) {
                return Optional.of(e);
            }
        }
        return Optional.empty();
    }

    private static EpPeerLostException notTakenBack(int rank, String why) {
        return new EpPeerLostException(
                "rank " + rank + " cannot be taken back: " + why + "; leave it masked, or join a new group",
                rank,
                "clear mask");
    }

    /** Numbers the next operations after these. */
    private void number(long high, long dispatch, long combine) {
        restarted = new long[] {high, dispatch, combine};
        numbers.restart(high, dispatch, combine);
        waits.restart(high, dispatch, combine);
    }
}
