package org.ep4j.engine.proxy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpArgumentException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;

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

    private final String name;
    private final List<CommandRing> rings;
    private final ProxyState state;
    private final List<Thread> threads = new ArrayList<>();

    /**
     * Starts the threads, which {@link #close} ends.
     *
     * @param name of the threads, which have their number behind it
     * @param count of threads; one that has no ring looks for arrivals alone
     * @param pump called by every thread in every turn; {@link ArrivalPump#NONE} where there is none
     * @param failures hears what sink and pump throw
     * @param numaNode whose processors the threads are bound to, where that is possible
     * @param idleSpin how long a thread spins without work
     */
    public ProxyThreads(
            String name,
            int count,
            List<CommandRing> rings,
            CommandSink sink,
            ArrivalPump pump,
            FailureListener failures,
            Optional<Integer> numaNode,
            Duration idleSpin) {
        if (count < 1 || count > MAX_THREADS) {
            throw new EpArgumentException(
                    "ep.proxy.threads", count, "from 1 to " + MAX_THREADS, "set it to such a number");
        }
        this.name = name;
        this.rings = List.copyOf(rings);
        this.state = new ProxyState(failures);
        Runnable placement = () -> numaNode.ifPresent(ProxyThreads::bind);
        for (int i = 0; i < count; i++) {
            Proxy proxy =
                    new Proxy(i, count, this.rings, sink, pump, state, placement, Math.max(0, idleSpin.toNanos()));
            Thread thread = new Thread(proxy, name + "-" + i);
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
    }

    private static void bind(int numaNode) {
        NumaBinding.bind(numaNode)
                .ifPresent(why -> LOGGER.log(
                        System.Logger.Level.WARNING,
                        "{0} runs on any processor instead of NUMA node {1}: {2}",
                        Thread.currentThread().getName(),
                        numaNode,
                        why));
    }

    /** An operation is launched: nobody sleeps until {@link #quiet}. */
    public void wake() {
        if (!state.awake) {
            state.awake = true;
            threads.forEach(LockSupport::unpark);
        }
    }

    /** No operation is in flight. */
    public void quiet() {
        state.awake = false;
    }

    /** The first thing that sink or pump threw. */
    public Optional<Throwable> failure() {
        return Optional.ofNullable(state.firstFailure());
    }

    /**
     * Drops what is in the rings and begins them anew, as is needed after a kernel gave up its place in one. No kernel that
     * produces may run; the heads that it uses are zeroed by the caller.
     *
     * @throws EpTimeoutException when a thread has not done so at the deadline
     */
    public synchronized void restart(Duration deadline) {
        CountDownLatch latch = new CountDownLatch(threads.size());
        state.restart = latch;
        threads.forEach(LockSupport::unpark);
        boolean interrupted = false;
        long end = System.nanoTime() + deadline.toNanos();
        try {
            while (true) {
                try {
                    if (latch.await(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                        return;
                    }
                    throw new EpTimeoutException(
                            latch.getCount() + " of " + threads.size() + " threads " + name + "-* have not restarted"
                                    + " their rings within " + deadline.toMillis()
                                    + " ms: they are inside a call of the backend; see what they do (jstack)",
                            EpFailure.builder("restart of proxy threads", -1)
                                    .expected(threads.size())
                                    .seen(threads.size() - latch.getCount())
                                    .build());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
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
        state.stop = true;
        threads.forEach(LockSupport::unpark);
    }

    /** Ends the threads, each after its turn, and waits for them until the deadline, also where this one is interrupted. */
    public Ended close(Duration deadline) {
        stop();
        boolean interrupted = false;
        long end = System.nanoTime() + deadline.toNanos();
        for (Thread thread : threads) {
            while (thread.isAlive() && end - System.nanoTime() > 0) {
                try {
                    thread.join(1 + (end - System.nanoTime()) / 1_000_000);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        Ended ended = new Ended(
                threads.stream().filter(Thread::isAlive).map(Thread::getName).toList(),
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
}
