package org.ep4j.transport.posted;

import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpTraffic;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.Pause;
import org.jspecify.annotations.Nullable;

/**
 * Counted writes between this rank and one peer, in both directions and for all buffers. A subclass posts work requests, polls completions and
 * counts; this class has the lock, the waits of calls, and the loss of the peer. Public methods are safe for use from several
 * threads, which wait for each other. Protected methods run in the thread that holds the lock, unless they say otherwise.
 *
 * @param <M> memory of buffers
 */
public abstract class PostedConnection<M extends PostedMemory> {
    /** Check of calls that only their deadline ends. */
    public static final Runnable NO_CHECK = () -> {};

    /** Time that an idle network needs for a small write. */
    private static final long MOMENT_NANOS = 100_000;

    private static final String ALL_WRITES = "the end of all writes";

    /** Time between checks of a call that waits for another one. */
    private static final Duration LOCK_TURN = Duration.ofMillis(5);

    /** Polls after the end of a wait by a thread that got no CPU before, as long as they find something. */
    private static final int LATE_POLLS = 64;

    /** Polls for what has arrived: more than queues hold, and not without end where a peer continues to write. */
    private static final int MOST_POLLS = 1 << 13;

    private final ReentrantLock lock = new ReentrantLock();
    private final PostedPeer peer;
    private final Duration timeout;
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();
    private final Queue<String> warnings = new ConcurrentLinkedQueue<>();
    /** Written by the thread that polls, read by all. */
    private final AtomicLong passes = new AtomicLong();
    /** Costs less to read than the queue. */
    private volatile boolean hasCommands;

    private volatile @Nullable Loss lost;

    // Of the call that has the lock.
    private Runnable check = NO_CHECK;
    private Duration longest = Duration.ZERO;
    private boolean waiting;
    private boolean late;
    private long end;

    private record Loss(String text, EpFailure failure) {}

    /**
     * What a call that waits in vain waits behind.
     *
     * @param text amounts for the message, such as {@code 3 requests under way}
     * @param expected value of {@link EpFailure#expected}
     * @param seen value of {@link EpFailure#seen}
     */
    public record Backlog(String text, long expected, long seen) {}

    /**
     * Creates a connection.
     *
     * @param timeout longest wait of a call that has no deadline of its own
     */
    protected PostedConnection(PostedPeer peer, Duration timeout) {
        this.peer = peer;
        this.timeout = timeout;
    }

    // What a subclass adds.

    /** Finds out whether the peer can be reached, by {@link #await}. The default assumes it. */
    protected void establish() {}

    /**
     * Posts a write whose ranges have been checked.
     *
     * @param message whether it is of low latency, see {@link HostPosted#putMessage}
     */
    protected abstract void post(M memory, long target, long source, long bytes, boolean message);

    /**
     * Posts a new value of a counter after everything that was posted before, and makes progress where the queues are full.
     *
     * @param sent values that were posted before, by counter; gets the new one as soon as it is posted
     * @param value above the last one
     */
    protected abstract void postSignal(M memory, int counter, long[] sent, long value);

    /**
     * Posts a notice that this rank writes nothing more to a buffer; called again where it has thrown. The default sets the counter after those
     * of callers to 1, once.
     */
    protected void postClosed(M memory) {
        long[] sent = memory.sent(peer.index());
        if (sent[HostPosted.COUNTERS] == 0) {
            postSignal(memory, HostPosted.COUNTERS, sent, 1);
        }
    }

    /**
     * Makes progress: posts what waits, and takes completions out.
     *
     * @param polls most polls of an empty queue, a hint
     * @return whether anything happened
     */
    protected abstract boolean poll(int polls);

    /** As {@link #poll}, but posts nothing, where the backend can do one without the other. */
    protected boolean takeCompletions() {
        return poll(1);
    }

    /** Work requests in flight. */
    protected abstract int inFlight();

    /** Those in flight that read memory of a buffer. */
    protected int sourcesInFlight() {
        return inFlight();
    }

    /** Whether some writes and a signal would not wait for the peer, where nothing is in flight. */
    protected boolean hasRoom() {
        return true;
    }

    /** What a call waits behind now. */
    protected Backlog backlog() {
        return new Backlog(inFlight() + " in flight", 0, inFlight());
    }

    /** Gives up what nothing moves on, so that nothing reads the source of a write any more; the default ends the connection. */
    protected void giveUp(String why) {
        notifyEnd();
        lose(why, peer.failure());
    }

    /** Notifies the peer that the connection ends, as far as that needs no waiting. The default does nothing. */
    protected void notifyEnd() {}

    /** Stops queues for good: nothing is posted any more, and nothing of the peer arrives. Called once. */
    protected abstract void stop();

    /** Where to look for the reason of a loss, for the message: what follows {@code rank 1 cannot be reached}. Any thread. */
    protected String lossAdvice() {
        return "; see the log of that rank and the state of its network";
    }

    /** Returns what was carried so far. Any thread, and waits for none. */
    public abstract EpTraffic traffic();

    // Calls of buffers.

    /** Posts a write, see {@link HostPosted#put}; {@code ending} ends a wait for room, see {@link HostPosted#setWaitCheck}. */
    public final void put(M memory, long target, long source, long bytes, boolean message, Runnable ending) {
        Deadline waited = lock.tryLock() ? null : awaitLock("room", Deadline.in(timeout), ending);
        try {
            begin(waited, ending);
            post(memory, target, source, bytes, message);
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /** Posts the value of a counter, see {@link HostPosted#signal}; {@code ending} as in {@link #put}. */
    public final void signal(M memory, int counter, long value, Runnable ending) {
        Deadline waited = lock.tryLock() ? null : awaitLock("room", Deadline.in(timeout), ending);
        try {
            begin(waited, ending);
            long[] sent = memory.sent(peer.index());
            // Compared and posted under one lock, which every writer of a counter takes: each value is posted once, in
            // order.
            if (value > sent[counter]) {
                postSignal(memory, counter, sent, value);
            } else {
                // What earlier calls have posted must not stay behind either.
                progress();
            }
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /** Waits until nothing is in flight, and for other threads, see {@link HostPosted#flush}; {@code ending} as in {@link #put}. */
    public final void flush(Deadline deadline, Runnable ending) {
        Deadline waited = awaitLock(ALL_WRITES, deadline, ending);
        try {
            begin(waited, ending);
            await(ALL_WRITES, () -> inFlight() == 0);
        } finally {
            check = NO_CHECK;
            lock.unlock();
        }
    }

    /** Takes the lock before the deadline, which it returns; {@code ending} as in {@link #put}. */
    private Deadline awaitLock(String phase, Deadline deadline, Runnable ending) {
        while (!deadline.atMost(LOCK_TURN).tryLock(lock)) {
            if (deadline.passed()) {
                throw new EpTimeoutException(
                        "the connection to " + peer.label()
                                + " stayed busy until the deadline: another thread holds it and waits for posted"
                                + " writes; check that the process of that rank runs and accepts data, and see with"
                                + " jstack which thread of this process is in put, signal or flush",
                        peer.failure().toBuilder().phase(phase).build());
            }
            ending.run();
        }
        return deadline;
    }

    /** See {@link HostPosted#isIdle}. What other threads have posted may arrive for a moment, in which they post nothing more. */
    public final boolean isIdle() {
        checkAlive();
        if (!lock.tryLock()) {
            return false;
        }
        try {
            checkAlive();
            long moment = System.nanoTime() + MOMENT_NANOS;
            do {
                progress();
                checkAlive();
            } while (inFlight() > 0 && System.nanoTime() - moment < 0);
            return inFlight() == 0 && hasRoom();
        } finally {
            lock.unlock();
        }
    }

    /** Finds out whether the peer can be reached. */
    final void establish(Deadline deadline) {
        hold(() -> {
            begin(deadline, NO_CHECK);
            establish();
        });
    }

    /**
     * Lets all data arrive that was posted, by other threads too, then posts something and lets that arrive. Other threads post nothing meanwhile.
     *
     * @param quiet ends this if nothing has arrived for so long, or another thread has used the connection
     * @param limit ends this also where something arrives again and again
     * @return whether all has arrived
     */
    final boolean drainThen(Duration quiet, Deadline limit, Runnable post) {
        if (!Deadline.in(quiet).tryLock(lock)) {
            return false;
        }
        try {
            begin(quiet, NO_CHECK);
            if (!drained(quiet, limit::passed, this::sourcesInFlight)) {
                return false;
            }
            post.run();
            return drained(quiet, limit::passed, this::inFlight);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Lets all data arrive that was posted, then posts something. Ends the connection if nothing arrives for some time: nothing reads the
     * source of a write any more.
     *
     * @param quiet how long nothing may arrive
     * @param limit longest wait of {@code post}
     */
    final void drainOrEnd(Duration quiet, Duration limit, Runnable post, String why) {
        hold(() -> {
            runCommands();
            if (lost == null && !drained(quiet, () -> false, this::sourcesInFlight)) {
                giveUp(why);
            }
            if (lost == null && drained(quiet, () -> false, this::sourcesInFlight)) {
                begin(limit, NO_CHECK);
                try {
                    post.run();
                } catch (EpTimeoutException e) {
                    // A peer without the notice would go on writing to the buffer.
                    notifyEnd();
                    lose(why, peer.failure());
                }
            }
            if (lost == null && !drained(quiet, () -> false, this::sourcesInFlight)) {
                lose(why, peer.failure());
            }
        });
    }

    private boolean drained(Duration quiet, BooleanSupplier over, IntSupplier count) {
        int before = -1;
        int lateTries = 0;
        long quietEnd = System.nanoTime();
        boolean moved = false;
        for (int tries = 0; count.getAsInt() > 0; tries++) {
            // More in flight is progress too: a failover posts again.
            if (count.getAsInt() != before && !over.getAsBoolean()) {
                before = count.getAsInt();
                quietEnd = Deadline.in(quiet).nanoTime();
                lateTries = 0;
            } else if (lateTries > 0 && (!moved || lateTries > LATE_POLLS)) {
                return false;
            } else if (lateTries > 0 || over.getAsBoolean() || quietEnd - System.nanoTime() <= 0) {
                lateTries++;
            }
            moved = progress();
            checkAlive();
            if (!moved) {
                Pause.after(tries);
            }
        }
        return true;
    }

    // Progress and waits.

    private void begin(Duration most, Runnable ending) {
        check = ending;
        longest = most;
        // The wait begins with its first poll: calls that never wait read no clock.
        waiting = false;
        late = false;
        checkAlive();
    }

    private void begin(@Nullable Deadline deadline, Runnable ending) {
        begin(deadline == null ? timeout : deadline.whole(), ending);
        if (deadline != null) {
            waiting = true;
            end = deadline.nanoTime();
        }
    }

    /**
     * Makes progress until a condition holds. Polls once more after the deadline: a thread that got no CPU until then has not polled yet.
     *
     * @param what completes "this rank waited for"
     */
    protected final void await(String what, BooleanSupplier condition) {
        checkAlive();
        for (int tries = 0; !condition.getAsBoolean(); tries++) {
            boolean moved = progress();
            checkAlive();
            if (condition.getAsBoolean()) {
                return;
            }
            if (late) {
                throw timedOut(what);
            }
            if (!waiting) {
                waiting = true;
                end = Deadline.in(longest).nanoTime();
            }
            late = end - System.nanoTime() <= 0;
            if (Pause.isTimeToCheck(tries)) {
                check.run();
            }
            if (!moved) {
                Pause.after(tries);
            }
        }
    }

    private EpTimeoutException timedOut(String what) {
        Backlog backlog = backlog();
        return new EpTimeoutException(
                peer.label() + " accepted no data before the deadline: this rank waited for " + what + ", with "
                        + backlog.text() + "; check that the process of that rank runs, or raise ep.timeout",
                peer.failure().toBuilder()
                        .phase(what)
                        .expected(backlog.expected())
                        .seen(backlog.seen())
                        .build());
    }

    /** Makes progress within a call; true when anything happened. */
    protected final boolean progress() {
        return progress(1);
    }

    private boolean progress(int polls) {
        // There is one writer at a time, so this needs no atomic operation of the processor.
        passes.setOpaque(passes.getPlain() + 1);
        runCommands();
        return lost != null || poll(polls);
    }

    /** Makes progress where no other thread is at it; true when anything happened. */
    public final boolean tryProgress() {
        return tryProgress(1);
    }

    final boolean tryProgress(int polls) {
        if (lost != null || !lock.tryLock()) {
            return false;
        }
        try {
            return progress(polls);
        } finally {
            lock.unlock();
        }
    }

    /** Makes progress for a connection that waits for room on a NIC, unless a thread is at this one, also the calling one. */
    protected final void progressForOthers() {
        if (!lock.isHeldByCurrentThread()) {
            tryProgress();
        }
    }

    /** Number of progress passes so far, by any thread. */
    final long passes() {
        return passes.getOpaque();
    }

    /** Takes in what has arrived, unless another thread uses the connection until the deadline. Returns whether it was free. */
    final boolean trySettle(Deadline deadline) {
        if (!deadline.tryLock(lock)) {
            return false;
        }
        try {
            settle();
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void settle() {
        for (int i = 0; i < MOST_POLLS && lost == null && takeCompletions(); i++) {
            // Takes in what is there.
        }
    }

    /** Leaves a command for the thread that holds the lock, now or next; a lost peer needs none. Any thread, and waits for none. */
    protected final void submit(Runnable command) {
        if (lost == null) {
            commands.add(command);
            hasCommands = true;
            tryProgress();
        }
    }

    private void runCommands() {
        if (hasCommands) {
            // Cleared first, so that a command which is submitted from here on sets it again.
            hasCommands = false;
            for (Runnable next = commands.poll(); next != null; next = commands.poll()) {
                if (lost == null) {
                    next.run();
                }
            }
        }
    }

    /** Keeps other threads from the connection while a call runs. */
    public final void hold(Runnable call) {
        lock.lock();
        try {
            call.run();
        } finally {
            lock.unlock();
        }
    }

    // The end.

    /** Ends the connection. A thread that waits here for the peer ends. */
    public final void end(String why) {
        submit(() -> {
            notifyEnd();
            lose(why, peer.failure());
        });
        hold(this::runCommands);
    }

    /** Ends the connection to a peer that is gone, once all is taken in that it has sent. Does not wait. */
    public final void peerGone(String why) {
        submit(() -> {
            settle();
            if (lost == null) {
                // The peer may only have been stopped, and wait for this rank when it continues.
                notifyEnd();
            }
            // What fails here, or has failed in between, is a consequence.
            lose(why, peer.failure());
            lost = loss(why, peer.failure());
        });
    }

    /** Loses the peer, where it is not lost yet. Other threads learn of it once nothing of the peer arrives any more. */
    protected final void lose(String why, EpFailure failure) {
        if (lost == null) {
            stop();
            lost = loss(why, failure);
        }
    }

    private Loss loss(String why, EpFailure failure) {
        return new Loss(peer.label() + " cannot be reached: " + why, failure);
    }

    private void checkAlive() {
        if (lost != null) {
            throw lostNow();
        }
    }

    /** True once the peer is lost. Any thread. */
    public final boolean isLost() {
        return lost != null;
    }

    /** Creates what to throw where the peer is lost. Any thread. */
    public final EpPeerLostException lostNow() {
        Loss loss = lost;
        return new EpPeerLostException(
                (loss == null ? peer.label() + " cannot be reached" : loss.text()) + lossAdvice()
                        + ", or continue without that rank",
                loss == null ? peer.failure() : loss.failure());
    }

    /** The other end. */
    public final PostedPeer peer() {
        return peer;
    }

    /** Leaves a warning for the log, which a thread of the backend writes. */
    protected final void warn(String text) {
        warnings.add(text);
    }

    /** Takes the oldest warning. Any thread. */
    public final Optional<String> nextWarning() {
        return Optional.ofNullable(warnings.poll());
    }
}
