package org.ep4j.engine.proxy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntPredicate;
import java.util.function.ObjIntConsumer;
import java.util.stream.IntStream;
import org.ep4j.EpArgumentException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.proxy.CommandRing.CommandSink;
import org.ep4j.transport.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * Threads that take commands from rings and have a sink execute them. Ring {@code r} belongs to thread {@code r % threads}, so
 * all commands for one peer, which go through one ring, reach the sink from one thread. A thread alternates between its rings
 * and takes a bounded number of commands from each. Without work it spins, after {@code ep.proxy.idle-spin} it yields
 * the CPU core between polls, and after {@link #quiet} it sleeps, at first 50 us and at most 1 ms at a time: a GPU,
 * which cannot wake a thread, is served then too, only later.
 *
 * <p>What the sink throws does not end a thread. All methods may be called from any thread.
 */
public final class ProxyThreads {
    private static final System.Logger LOGGER = System.getLogger(ProxyThreads.class.getName());

    /** Peer of a failure to poll, which belongs to none. */
    static final int NO_PEER = -1;

    /** Most threads of one rank. */
    public static final int MAX_THREADS = 256;

    /** Commands taken from a ring before it is the next one's turn, and before producers have their places back. */
    static final int BATCH = 32;

    /** Turns without work between reads of the clock, a power of two. */
    private static final int TURNS = 64;

    /** First sleep of a thread, doubled up to the longest while nothing happens. */
    private static final long FIRST_SLEEP_NANOS = 50_000;

    private static final long LONGEST_SLEEP_NANOS = 1_000_000;

    private final String name;
    private final List<CommandRing> rings;
    private final CommandSink sink;
    private final IntPredicate pump;
    private final ObjIntConsumer<Throwable> listener;
    private final AtomicBoolean listenerFailed = new AtomicBoolean();
    private final long idleSpinNanos;
    private final List<Thread> threads = new ArrayList<>();

    /** True while operations are in flight: no thread sleeps. */
    private volatile boolean awake;

    private volatile boolean stop;

    /** Counted down by every thread that has restarted its rings; a new latch for each restart. */
    private volatile @Nullable CountDownLatch restart;

    /**
     * Starts the threads, which {@link #close} ends.
     *
     * @param name prefix of the threads' names, before their number
     * @param count number of threads; one that has no ring only polls for arrivals
     * @param pump polls once for arrivals from peers, without waiting, in every turn of every thread, whose index from 0 it
     *     gets; returns whether there were any, so that the thread does not rest
     * @param failures gets what sink and pump throw, and the peer of the command, or -1; it returns soon
     * @param idleSpin how long a thread spins without work
     */
    public ProxyThreads(
            String name,
            int count,
            List<CommandRing> rings,
            CommandSink sink,
            IntPredicate pump,
            ObjIntConsumer<Throwable> failures,
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

    /** Wakes the threads, which do not sleep until {@link #quiet}: an operation is launched. */
    public void wake() {
        if (!awake) {
            awake = true;
            threads.forEach(LockSupport::unpark);
        }
    }

    /** Lets the threads sleep: no operation is in flight. */
    public void quiet() {
        awake = false;
    }

    /**
     * Empties and restarts the rings, as is needed after a kernel gave up its place in one. No kernel that
     * produces may run; the caller zeroes the heads.
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
     * Threads and commands that are left at the end.
     *
     * @param running names of threads that had not ended at the deadline; what they use must not be freed
     * @param left number of commands that were not taken
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
                Deadline.in(deadline).awaitEnd(threads),
                rings.stream().mapToInt(CommandRing::left).sum());
        if (!ended.running().isEmpty()) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "threads {0} have not ended within {1} ms of being stopped: they are inside a call of the backend;"
                            + " see what they do (jstack)",
                    ended.running(),
                    deadline.toMillis());
        }
        return ended;
    }

    private void failed(Throwable failure, int peer) {
        try {
            listener.accept(failure, peer);
        } catch (Throwable e) {
            // The ring must be drained whatever happens; logged once, since every command may fail.
            if (listenerFailed.compareAndSet(false, true)) {
                LOGGER.log(
                        System.Logger.Level.ERROR,
                        "the failure listener of the proxy threads has thrown an exception",
                        e);
            }
        }
    }

    /** One thread: takes commands from its rings in turn and polls for arrivals. Its loop allocates nothing. */
    private final class Proxy implements Runnable {
        private final int thread;
        private final int[] indices;
        private final CommandRing[] own;
        private final ObjIntConsumer<Throwable> failures = ProxyThreads.this::failed;
        private @Nullable CountDownLatch restarted;
        private int turns;
        private long idleSince;
        private long sleep = FIRST_SLEEP_NANOS;

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

        /** Serves each ring and polls once. Returns whether there was work. */
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
                failed(e, NO_PEER);
                return false;
            }
        }

        /** Spins, then yields, and sleeps only while no operation is in flight. */
        @SuppressWarnings("ThreadPriorityCheck") // there may be fewer CPU cores than threads
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
            // Counts on from here: only the first read of the clock finds this value.
            turns = TURNS;
            if (now - idleSince < idleSpinNanos) {
                return;
            }
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
