package org.ep4j.engine.sync;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.ep4j.EpPeerLostException;
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
 * first round in which it hears of it.
 */
public final class Recoverer {
    /** Word of a block. */
    private static final int CONFIRMING = 5;

    private final Numbers numbers;
    private final Peers<?> peers;
    private final Waits waits;
    private final Bootstrap bootstrap;
    private long round;
    private long maskClears;

    /** The operation numbers of an engine: how many operations of each kind this rank has begun. */
    public interface Numbers {
        /** High throughput, low-latency dispatch, low-latency combine. */
        long[] begun();

        /** Numbers the next operations after these, with nothing in flight. */
        void restart(long highThroughput, long dispatch, long combine);
    }

    /** Over the counters that {@code waits} looks at. */
    public Recoverer(Numbers numbers, Peers<?> peers, Waits waits, Bootstrap bootstrap) {
        this.numbers = numbers;
        this.peers = peers;
        this.waits = waits;
        this.bootstrap = bootstrap;
    }

    /** See {@link org.ep4j.EpBuffer#recover}. */
    public Recovery recover(long completed, Deadline deadline) {
        Set<Integer> lost = new TreeSet<>(waits.mask().toSet());
        boolean confirming = false;
        round = Math.max(round, newestRound(lost) - 1);
        settle(lost);
        while (true) {
            Set<Integer> before = Set.copyOf(lost);
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
                heads.put(r, head);
                Set<Integer> theirs = readSet(r);
                agreed &= theirs.equals(lost);
                confirmed &= head[CONFIRMING] != 0;
                union.addAll(theirs);
            }
            if (agreed && confirmed) {
                return adopt(lost, heads);
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

    /** Nothing of what was broken off may arrive later than what comes after the recovery. */
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
        long[] words = {round, begun[0], begun[1], begun[2], completed, confirming ? 1 : 0, 0, 0};
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
            if (peers.local().getInt(ints + 4L * q) != 0) {
                set.add(q);
            }
        }
        return set;
    }

    private Recovery adopt(Set<Integer> lost, Map<Integer, long[]> heads) {
        long[] most = new long[4];
        Map<Integer, Long> completed = new TreeMap<>();
        heads.forEach((rank, words) -> {
            for (int i = 1; i < most.length; i++) {
                most[i] = Math.max(most[i], words[i]);
            }
            completed.put(rank, words[4]);
        });
        waits.mask(Mask.of(lost));
        waits.recovered(round);
        number(most[1], most[2], most[3]);
        return new Recovery(lost, completed);
    }

    /** See {@link org.ep4j.EpBuffer#clearMask}; {@code name} is the buffer's. */
    public void clearMask(String name, Duration longest) {
        for (int rank : waits.mask().toSet()) {
            if (bootstrap.state(rank) != MemberState.ALIVE) {
                throw new EpPeerLostException(
                        "rank " + rank + " cannot be taken back: it is "
                                + bootstrap.state(rank).name().toLowerCase(Locale.ROOT)
                                + "; leave it masked, or join a new group",
                        rank,
                        "clear mask");
            }
        }
        maskClears++;
        var mine = ByteBuffer.allocate(24);
        for (long number : numbers.begun()) {
            mine.putLong(number);
        }
        long[] most = new long[3];
        for (byte[] theirs : bootstrap.allGather(name + "-clear-mask-" + maskClears, mine.array(), longest)) {
            var words = ByteBuffer.wrap(theirs);
            for (int i = 0; i < most.length; i++) {
                most[i] = Math.max(most[i], words.getLong());
            }
        }
        for (int r = 0; r < peers.ranks(); r++) {
            peers.settle(r);
        }
        waits.mask(Mask.NONE);
        number(most[0], most[1], most[2]);
        // Nobody sends before everybody has taken the numbers.
        bootstrap.barrier(name + "-mask-cleared-" + maskClears, longest);
    }

    /** Numbers the next operations after these. */
    private void number(long high, long dispatch, long combine) {
        numbers.restart(high, dispatch, combine);
        waits.begin(Counter.HT_ENTER, high);
        waits.begin(Counter.LL_DISPATCH, dispatch);
        waits.begin(Counter.LL_COMBINE, combine);
    }
}
