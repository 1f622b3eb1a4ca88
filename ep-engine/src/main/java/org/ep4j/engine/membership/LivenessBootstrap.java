package org.ep4j.engine.membership;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;

/**
 * A bootstrap whose member states include what the locks of the peers on this host prove. So a rank detects dead peers of its host
 * without the rank that runs the hub, which may be dead itself.
 */
public final class LivenessBootstrap implements Bootstrap {
    private static final long PERIOD_NANOS = 20_000_000;

    private final Bootstrap bootstrap;
    private final Watch watch;
    /** By rank of this bootstrap: the rank in the group. */
    private final List<Integer> ranks;

    private final boolean isGroup;

    private LivenessBootstrap(Bootstrap bootstrap, Watch watch, List<Integer> ranks, boolean isGroup) {
        this.bootstrap = bootstrap;
        this.watch = watch;
        this.ranks = ranks;
        this.isGroup = isGroup;
    }

    /** Watches the peers of a group, by a thread of its own, until it is closed; that closes {@code locks}, too. */
    public static Bootstrap of(Bootstrap bootstrap, LivenessLocks locks) {
        Watch watch = new Watch(locks, bootstrap.size());
        if (locks.isAnyWatched()) {
            Thread thread = new Thread(watch::run, "ep4j-liveness-" + bootstrap.rank());
            thread.setDaemon(true);
            thread.start();
        }
        return new LivenessBootstrap(
                bootstrap, watch, IntStream.range(0, bootstrap.size()).boxed().toList(), true);
    }

    @Override
    public int rank() {
        return bootstrap.rank();
    }

    @Override
    public int size() {
        return bootstrap.size();
    }

    @Override
    public List<byte[]> allGather(String tag, byte[] mine, Duration deadline) {
        return bootstrap.allGather(tag, mine, deadline);
    }

    @Override
    public void barrier(String tag, Duration deadline) {
        bootstrap.barrier(tag, deadline);
    }

    @Override
    public MemberState state(int rank) {
        MemberState known = bootstrap.state(rank);
        return known == MemberState.ALIVE ? watch.states.get(ranks.get(rank)) : known;
    }

    @Override
    public boolean provesLosses() {
        return bootstrap.provesLosses();
    }

    @Override
    public boolean isProvedDead(int rank) {
        return bootstrap.isProvedDead(rank) || watch.locks.hasEnded(ranks.get(rank), bootstrap.state(rank));
    }

    @Override
    public long stateChanges() {
        return bootstrap.stateChanges() + watch.changes.get();
    }

    @Override
    public Bootstrap subgroup(String name, List<Integer> members) {
        return new LivenessBootstrap(
                bootstrap.subgroup(name, members),
                watch,
                members.stream().map(ranks::get).toList(),
                false);
    }

    /** Leaves: first the bootstrap, so that other ranks learn the same from it as from the lock. */
    @Override
    public void close() {
        bootstrap.close();
        if (isGroup) {
            watch.close();
        }
    }

    /** Polls the locks, since nothing wakes a thread when a lock becomes free. */
    private static final class Watch {
        private final LivenessLocks locks;
        private final AtomicReferenceArray<MemberState> states;
        private final AtomicLong changes = new AtomicLong();
        private volatile boolean closed;

        Watch(LivenessLocks locks, int size) {
            this.locks = locks;
            states = new AtomicReferenceArray<>(size);
            for (int r = 0; r < size; r++) {
                states.set(r, MemberState.ALIVE);
            }
        }

        private void run() {
            while (!closed) {
                for (int r = 0; r < states.length(); r++) {
                    MemberState state = locks.state(r);
                    if (state != states.get(r)) {
                        states.set(r, state);
                        changes.incrementAndGet();
                    }
                }
                LockSupport.parkNanos(this, PERIOD_NANOS);
            }
        }

        void close() {
            closed = true;
            locks.close();
        }
    }
}
