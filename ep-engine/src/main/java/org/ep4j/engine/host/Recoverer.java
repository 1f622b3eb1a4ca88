package org.ep4j.engine.host;

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
 */
final class Recoverer {
    /** Word of a block. */
    private static final int CONFIRMING = 5;

    private final HighThroughput highThroughput;
    private final LowLatency lowLatency;
    private final HostState state;
    private final Bootstrap bootstrap;
    private long round;

    Recoverer(HighThroughput highThroughput, LowLatency lowLatency, HostState state, Bootstrap bootstrap) {
        this.highThroughput = highThroughput;
        this.lowLatency = lowLatency;
        this.state = state;
        this.bootstrap = bootstrap;
    }

    /** See {@link org.ep4j.EpBuffer#recover}. */
    Recovery recover(long completed, Deadline deadline) {
        Set<Integer> lost = new TreeSet<>(state.waits().mask().toSet());
        boolean confirming = false;
        round = Math.max(round, newestRound() - 1);
        while (true) {
            Set<Integer> before = Set.copyOf(lost);
            addLost(lost);
            confirming &= lost.equals(before);
            round++;
            publish(lost, completed, confirming);
            Map<Integer, long[]> heads = new TreeMap<>();
            boolean agreed = true;
            boolean confirmed = true;
            Set<Integer> union = new TreeSet<>(lost);
            for (int r = 0; r < state.ranks(); r++) {
                // Also a rank that another survivor holds lost: it will not publish, and is masked in this wait.
                if (union.contains(r) || !await(r, union, deadline)) {
                    agreed &= lost.contains(r);
                    continue;
                }
                long[] head = state.peers().readBlock(Block.RECOVER, round, r);
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
            if (lost.contains(state.rank())) {
                throw new EpPeerLostException(
                        "the other ranks hold this rank (" + state.rank()
                                + ") lost and go on without it; close the buffer",
                        state.rank(),
                        "recover");
            }
        }
    }

    /** The newest round that some rank has begun. */
    private long newestRound() {
        long newest = 0;
        for (int r = 0; r < state.ranks(); r++) {
            newest = Math.max(newest, state.peers().seen(Counter.RECOVER, r));
        }
        return newest;
    }

    private void addLost(Set<Integer> lost) {
        for (int r = 0; r < state.ranks(); r++) {
            if (bootstrap.state(r) != MemberState.ALIVE) {
                lost.add(r);
            }
        }
    }

    /** Waits for a rank's publication; false when it dies meanwhile, which puts it into {@code union}. */
    private boolean await(int rank, Set<Integer> union, Deadline deadline) {
        Mask before = state.waits().mask();
        // Others that are known to be lost must not end this wait.
        state.waits().mask(Mask.of(union));
        try {
            state.waits().await(Counter.RECOVER, rank, round, deadline, "recover");
            return true;
        } catch (EpPeerLostException e) {
            union.add(e.peer());
            return e.peer() != rank && await(rank, union, deadline);
        } finally {
            state.waits().mask(before);
        }
    }

    private void publish(Set<Integer> lost, long completed, boolean confirming) {
        long[] words = {
            round,
            highThroughput.number(),
            lowLatency.dispatches().number(),
            lowLatency.combines().number(),
            completed,
            confirming ? 1 : 0,
            0,
            0
        };
        for (int r = 0; r < state.ranks(); r++) {
            if (lost.contains(r)) {
                continue;
            }
            state.peers().writeBlock(r, Block.RECOVER, round, words);
            long ints = state.peers().layout().block(Block.RECOVER, round, state.rank()) + BufferLayout.blockInts();
            for (int q = 0; q < state.ranks(); q++) {
                state.peers().memory(r).putInt(ints + 4L * q, lost.contains(q) ? 1 : 0);
            }
            state.peers().advance(r, Counter.RECOVER, round);
        }
    }

    private Set<Integer> readSet(int rank) {
        Set<Integer> set = new TreeSet<>();
        long ints = state.peers().layout().block(Block.RECOVER, round, rank) + BufferLayout.blockInts();
        for (int q = 0; q < state.ranks(); q++) {
            if (state.peers().local().getInt(ints + 4L * q) != 0) {
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
        state.waits().mask(Mask.of(lost));
        state.waits().recovered(round);
        number(most[1], most[2], most[3]);
        return new Recovery(lost, completed);
    }

    /** Numbers the next operations after these. */
    void number(long high, long dispatch, long combine) {
        highThroughput.number(high);
        lowLatency.dispatches().reset(dispatch);
        lowLatency.combines().reset(combine);
        state.waits().begin(Counter.HT_ENTER, high);
        state.waits().begin(Counter.LL_DISPATCH, dispatch);
        state.waits().begin(Counter.LL_COMBINE, combine);
    }
}
