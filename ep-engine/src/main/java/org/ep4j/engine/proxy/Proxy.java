package org.ep4j.engine.proxy;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** One proxy thread: takes commands from its rings in turn and looks for arrivals. Allocates nothing while it does. */
final class Proxy implements Runnable {
    /** Commands taken from a ring before it is the next one's turn, and before producers have their places back. */
    static final int BATCH = 32;

    /** Turns without work between looks at the clock, a power of two. */
    private static final int TURNS = 64;

    /** How long a thread sleeps, doubled up to the second while nothing happens. */
    private static final long FIRST_SLEEP_NANOS = 50_000;

    private static final long LONGEST_SLEEP_NANOS = 1_000_000;

    private final int thread;
    private final CommandRing[] rings;
    private final int[] indices;
    private final CommandSink sink;
    private final ArrivalPump pump;
    private final ProxyState state;
    private final Runnable placement;
    private final long idleSpinNanos;

    private @Nullable CountDownLatch restarted;
    private int turns;
    private long idleSince;
    private long sleep = FIRST_SLEEP_NANOS;

    /**
     * The thread of that index among {@code threads}; it has every ring whose index leaves that remainder.
     *
     * @param placement binds the calling thread to processors
     */
    Proxy(
            int thread,
            int threads,
            List<CommandRing> all,
            CommandSink sink,
            ArrivalPump pump,
            ProxyState state,
            Runnable placement,
            long idleSpinNanos) {
        this.thread = thread;
        this.indices = IntStream.range(0, all.size())
                .filter(i -> i % threads == thread)
                .toArray();
        this.rings = new CommandRing[indices.length];
        for (int i = 0; i < indices.length; i++) {
            rings[i] = all.get(indices[i]);
        }
        this.sink = new BreakingSink(sink, state.broken);
        this.pump = pump;
        this.state = state;
        this.placement = placement;
        this.idleSpinNanos = idleSpinNanos;
    }

    @Override
    public void run() {
        placement.run();
        while (!state.stop) {
            if (state.restart != restarted) {
                restart();
            }
            if (turn()) {
                turns = 0;
                sleep = FIRST_SLEEP_NANOS;
            } else {
                rest();
            }
        }
    }

    /** One look at everything; true where there was something. */
    private boolean turn() {
        int taken = 0;
        for (int i = 0; i < rings.length; i++) {
            taken += rings[i].take(indices[i], BATCH, sink, state);
        }
        boolean arrived = poll();
        return arrived || taken > 0;
    }

    private boolean poll() {
        try {
            return pump.poll(thread);
        } catch (Throwable e) {
            state.failed(FailureListener.NONE, FailureListener.NONE, e);
            return false;
        }
    }

    /** Spins, then lets others run, and sleeps only where no operation is in flight. */
    @SuppressWarnings("ThreadPriorityCheck") // there may be fewer processors than threads
    private void rest() {
        turns++;
        if ((turns & (TURNS - 1)) != 0) {
            Thread.onSpinWait();
            return;
        }
        long now = System.nanoTime();
        if (turns == TURNS) {
            idleSince = now;
        }
        if (now - idleSince < idleSpinNanos) {
            // Keeps away from the value that means the first look at the clock.
            turns = TURNS;
            return;
        }
        turns = TURNS;
        if (state.awake) {
            Thread.yield();
            return;
        }
        LockSupport.parkNanos(this, sleep);
        // Nobody interrupts this thread on purpose; an interrupt that stays would end every later sleep at once.
        Thread.interrupted();
        sleep = Math.min(LONGEST_SLEEP_NANOS, 2 * sleep);
    }

    private void restart() {
        CountDownLatch latch = state.restart;
        for (CommandRing ring : rings) {
            ring.restart();
        }
        restarted = latch;
        if (latch != null) {
            latch.countDown();
        }
    }
}
