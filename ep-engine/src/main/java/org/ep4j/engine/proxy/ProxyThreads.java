package org.ep4j.engine.proxy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.ep4j.EpArgumentException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.ThreadEnds;
import org.jspecify.annotations.Nullable;

/**
 * Threads that take commands from rings and hand them to a sink. Ring {@code r} belongs to thread {@code r % threads}, so
 * that all commands for one peer, which go through one ring, come to the sink from one thread. A thread goes round its rings
 * and takes a bounded number of commands from each. With nothing to do it spins, after {@code ep.proxy.idle-spin} it yields
 * the processor between looks, and while {@link #quiet} holds it sleeps, at first 50 us and at most 1 ms at a time: a GPU,
 * which can wake nobody, is served then too, only later.
 *
 * <p>What the sink throws does not end a thread. All methods may be called from any thread.
 */
public final class ProxyThreads {
    private static final System.Logger LOGGER = System.getLogger(ProxyThreads.class.getName());

    /** Most threads of one rank. */
    public static final int MAX_THREADS = 256;

    /** Commands taken from a ring before it is the next one's turn, and before producers have their places back. */
    static final int BATCH = 32;

    /** Turns without work between looks at the clock, a power of two. */
    private static final int TURNS = 64;

    /** How long a thread sleeps, doubled up to the second while nothing happens. */
    private static final long FIRST_SLEEP_NANOS = 50_000;

    private static final long LONGEST_SLEEP_NANOS = 1_000_000;

    private final String name;
    private final List<CommandRing> rings;
    private final CommandSink sink;
    private final IntPredicate pump;
    private final FailureListener listener;
    private final AtomicBoolean listenerFailed = new AtomicBoolean();
    private final long idleSpinNanos;
    private final List<Thread> threads = new ArrayList<>();

    /** True while operations are in flight: nobody sleeps. */
    private volatile boolean awake;

    private volatile boolean stop;

    /** Counted down by every thread that has begun its rings anew; another one for each time. */
    private volatile @Nullable CountDownLatch restart;

    /**
     * Starts the threads, which {@link #close} ends.
     *
     * @param name of the threads, which have their number behind it
     * @param count of threads; one that has no ring looks for arrivals alone
     * @param pump looks once for what has come from peers, without waiting, in every turn of every thread, whose index from 0 it
     *     gets; true where there was something, so that the thread goes on without rest
     * @param failures hears what sink and pump throw
     * @param idleSpin how long a thread spins without work
     */
    public ProxyThreads(
            String name,
            int count,
            List<CommandRing> rings,
            CommandSink sink,
            IntPredicate pump,
            FailureListener failures,
            Duration idleSpin) {
        if (count < 1 || count > MAX_THREADS) {
            throw new EpArgumentException(
                    "ep.proxy.threads", count, "from 1 to " + MAX_THREADS, "set it to such a number");
        }
        this.name = name;
        this.rings = List.copyOf(rings);
        this.sink = sink;
        this.pump = pump;
        this.listener = failures;
        this.idleSpinNanos = Math.max(0, idleSpin.toNanos());
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(new Proxy(i, count), name + "-" + i);
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
    }

    /** An operation is launched: nobody sleeps until {@link #quiet}. */
    public void wake() {
        if (!awake) {
            awake = true;
            threads.forEach(LockSupport::unpark);
        }
    }

    /** No operation is in flight. */
    public void quiet() {
        awake = false;
    }

    /**
     * Drops what is in the rings and begins them anew, as is needed after a kernel gave up its place in one. No kernel that
     * produces may run; the heads that it uses are zeroed by the caller.
     *
     * @throws EpTimeoutException when a thread has not done so at the deadline
     */
    public synchronized void restart(Duration deadline) {
        CountDownLatch latch = new CountDownLatch(threads.size());
        restart = latch;
        threads.forEach(LockSupport::unpark);
        if (!Deadline.in(deadline).awaitThroughInterrupts(latch)) {
            throw new EpTimeoutException(
                    latch.getCount() + " of " + threads.size() + " threads " + name + "-* have not restarted"
                            + " their rings within " + deadline.toMillis()
                            + " ms: they are inside a call of the backend; see what they do (jstack)",
                    EpFailure.builder("restart of proxy threads", -1)
                            .expected(threads.size())
                            .seen(threads.size() - latch.getCount())
                            .build());
        }
    }

    /**
     * How threads ended.
     *
     * @param running names of those that had not ended at the deadline; what they use must not be freed
     * @param left commands that nobody has taken
     */
    public record Ended(List<String> running, int left) {
        public Ended {
            running = List.copyOf(running);
        }
    }

    /** Ends the threads, each after its turn. */
    public void stop() {
        stop = true;
        threads.forEach(LockSupport::unpark);
    }

    /** Ends the threads, each after its turn, and waits for them until the deadline, also where this one is interrupted. */
    public Ended close(Duration deadline) {
        stop();
        Ended ended = new Ended(
                ThreadEnds.await(threads, deadline),
                rings.stream().mapToInt(CommandRing::left).sum());
        if (!ended.running().isEmpty()) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "threads {0} have not ended within {1} ms of being stopped: they are inside a call of the backend; see"
                            + " what they do (jstack)",
                    ended.running(),
                    deadline.toMillis());
        }
        return ended;
    }

    private void failed(int ring, int peer, Throwable failure) {
        try {
            listener.failed(ring, peer, failure);
        } catch (Throwable e) {
            // The ring must be drained whatever happens; said once, since every command may fail.
            if (listenerFailed.compareAndSet(false, true)) {
                LOGGER.log(
                        System.Logger.Level.ERROR,
                        "the failure listener of the proxy threads has thrown an exception",
                        e);
            }
        }
    }

    /** One thread: takes commands from its rings in turn and looks for arrivals. Allocates nothing while it does. */
    private final class Proxy implements Runnable {
        private final int thread;
        private final int[] indices;
        private final CommandRing[] own;
        private final FailureListener failures = ProxyThreads.this::failed;
        private @Nullable CountDownLatch restarted;
        private int turns;
        private long idleSince;
        private long sleep = FIRST_SLEEP_NANOS;

        /** It has every ring whose index leaves {@code thread} when divided by the number of threads. */
        Proxy(int thread, int count) {
            this.thread = thread;
            this.indices = IntStream.range(0, rings.size())
                    .filter(i -> i % count == thread)
                    .toArray();
            this.own = IntStream.of(indices).mapToObj(rings::get).toArray(CommandRing[]::new);
        }

        @Override
        public void run() {
            while (!stop) {
                if (restart != restarted) {
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
            for (int i = 0; i < own.length; i++) {
                taken += own[i].take(indices[i], BATCH, sink, failures);
            }
            boolean arrived = poll();
            return arrived || taken > 0;
        }

        private boolean poll() {
            try {
                return pump.test(thread);
            } catch (Throwable e) {
                failed(FailureListener.NONE, FailureListener.NONE, e);
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
            if (awake) {
                Thread.yield();
                return;
            }
            LockSupport.parkNanos(this, sleep);
            // Nobody interrupts this thread on purpose; an interrupt that stays would end every later sleep at once.
            Thread.interrupted();
            sleep = Math.min(LONGEST_SLEEP_NANOS, 2 * sleep);
        }

        private void restart() {
            CountDownLatch latch = restart;
            for (CommandRing ring : own) {
                ring.restart();
            }
            restarted = latch;
            if (latch != null) {
                latch.countDown();
            }
        }
    }
}
