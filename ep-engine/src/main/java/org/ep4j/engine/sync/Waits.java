package org.ep4j.engine.sync;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.membership.RecoveryWatch;
import org.ep4j.transport.Deadline;

/**
 * Waits for counters: spins, then yields, then sleeps until the counter advances, so that ranks that wait leave the processor to those
 * that work. A rank that posts cannot wake this one; a wait for it parks for short times instead. Ends with an exception at the deadline,
 * when a rank that is not masked dies, when the awaited rank goes another way, or on close.
 */
public final class Waits {
    /** About 20 us of spinning: longer than a hop, shorter than a time slice. */
    private static final int SPINS = 1000;

    /** With more ranks than processors a spinning rank only keeps the awaited one from running. */
    private static final int CROWDED_SPINS = 10;

    /** Then so many yields before sleeping: a yield takes about 1 us where no other thread wants the processor. */
    private static final int YIELDS = 100;

    /** Before parking, which takes longer than to be woken. */
    private static final int YIELDS_BEFORE_PARKING = 2000;

    private static final long PARK_NANOS = 50_000;

    /** Rounds without a sleep after which the deadline, the order of operations and interrupts are checked. */
    private static final int CHECKS = 64;

    /** Longest sleep, after which the deadline, losses, recoveries, interrupts and the closing of the buffer are checked. */
    public static final Duration LONGEST_SLEEP = Duration.ofMillis(2);

    /** Longer than any operation takes that still ends, for waits behind which a kernel has a deadline of its own. */
    public static final Duration LONGEST = Duration.ofDays(1);

    /** Counters that tell that a rank has begun an operation; each rank begins them in the same order. */
    private static final Counter[] BEGINNINGS = {Counter.HT_ENTER, Counter.LL_DISPATCH, Counter.LL_COMBINE};

    private final Peers<?> peers;
    private final Bootstrap bootstrap;
    private final int spins;
    private final Map<Counter, Long> begun = new EnumMap<>(Counter.class);
    private volatile Mask mask = Mask.NONE;
    private volatile boolean closing;
    /** Of a buffer that can recover. */
    private Optional<RecoveryWatch> watch = Optional.empty();

    public Waits(Peers<?> peers, Bootstrap bootstrap, int ranksOnHost) {
        this.peers = peers;
        this.bootstrap = bootstrap;
        this.spins = ranksOnHost <= Runtime.getRuntime().availableProcessors() ? SPINS : CROWDED_SPINS;
        for (Counter counter : BEGINNINGS) {
            begun.put(counter, 0L);
        }
    }

    /** Lets waits end when other ranks recover. Before the first operation. */
    public void watch(RecoveryWatch ofBuffer) {
        watch = Optional.of(ofBuffer);
    }

    /**
     * Refuses an operation while a recovery has begun and is not complete.
     *
     * @throws EpStateException then
     */
    public void requireReady() {
        watch.ifPresent(RecoveryWatch::requireReady);
    }

    /**
     * Ends an operation of a rank that the others have left out.
     *
     * @throws EpPeerLostException naming this rank
     */
    public void requireMember(String phase) {
        watch.ifPresent(ofBuffer -> ofBuffer.requireMember(phase));
    }

    /** Whether the others have left this rank out, as far as is known now. For any thread. */
    public boolean isLeftOut() {
        return watch.isPresent() && watch.get().isLeftOut();
    }

    public Mask mask() {
        return mask;
    }

    public void mask(Mask next) {
        mask = next;
    }

    public void close() {
        closing = true;
    }

    /**
     * Ends a wait of a recovery.
     *
     * @throws EpStateException when the buffer is being closed, or the thread was interrupted
     */
    void requireRunning() {
        if (closing) {
            throw new EpStateException("the buffer was closed during recover");
        }
        if (Thread.interrupted()) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted during recover; call recover again", EpException.Recourse.RECOVER);
        }
    }

    /** Until when the calls of the operation that begins may wait, besides those that are given a deadline. */
    public void until(Deadline deadline) {
        peers.until(deadline);
    }

    /** Remembers that this rank begins operation {@code number} of a kind; called by the thread that runs operations. */
    public void begin(Counter beginning, long number) {
        begun.put(beginning, number);
    }

    /** Numbers the next operations after these: high throughput, low-latency dispatch, low-latency combine. */
    void restart(long high, long dispatch, long combine) {
        begin(Counter.HT_ENTER, high);
        begin(Counter.LL_DISPATCH, dispatch);
        begin(Counter.LL_COMBINE, combine);
    }

    /**
     * Waits until {@code source}'s counter has at least the expected value.
     *
     * @return nanoseconds waited, 0 when it was there already
     */
    public long await(Counter counter, int source, long expected, Deadline deadline, String phase) {
        try {
            return awaitReached(counter, source, expected, deadline, phase);
        } catch (EpPeerLostException e) {
            throw during(e, counter, source, expected, phase);
        }
    }

    private long awaitReached(Counter counter, int source, long expected, Deadline deadline, String phase) {
        if (peers.reached(counter, source, expected)) {
            return 0;
        }
        long start = System.nanoTime();
        try {
            poll(counter, source, expected, deadline, phase);
        } catch (EpPeerLostException | EpTimeoutException e) {
            // It may have come since the last look: before the source was lost, or finished the operation and called
            // recover.
            if (!peers.hasReached(counter, source, expected)) {
                throw e;
            }
        }
        return System.nanoTime() - start;
    }

    private void poll(Counter counter, int source, long expected, Deadline deadline, String phase) {
        long changes = -1;
        boolean slept = false;
        for (int round = 0; !peers.reached(counter, source, expected); round++) {
            long now = bootstrap.stateChanges();
            if (now != changes) {
                changes = now;
                checkMembers(counter, source, expected, phase);
            }
            if (closing) {
                throw new EpStateException("the buffer was closed while " + waiting(source, phase));
            }
            if (round < spins) {
                Thread.onSpinWait();
                continue;
            }
            if (slept || (round - spins) % CHECKS == 0) {
                check(counter, source, expected, deadline, phase);
            }
            slept = pause(round - spins, counter, source, expected);
        }
    }

    private void check(Counter counter, int source, long expected, Deadline deadline, String phase) {
        checkOrder(counter, source, expected, phase);
        if (deadline.passed()) {
            throw timeout(counter, source, expected, deadline, phase);
        }
        if (Thread.interrupted()) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted while " + waiting(source, phase));
        }
    }

    /** Lets other threads run; true after a sleep. */
    @SuppressWarnings("ThreadPriorityCheck") // giving up the processor is what lets the awaited rank run
    private boolean pause(int round, Counter counter, int source, long expected) {
        if (round >= YIELDS && peers.sleep(counter, source, expected)) {
            return true;
        }
        if (round < YIELDS_BEFORE_PARKING) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(PARK_NANOS);
        }
        return false;
    }

    private void checkMembers(Counter counter, int source, long expected, String phase) {
        requireMember(phase);
        for (int r = 0; r < peers.ranks(); r++) {
            if (r == peers.rank() || mask.has(r)) {
                continue;
            }
            MemberState state = bootstrap.state(r);
            boolean gone = state == MemberState.LOST || (state == MemberState.LEFT && r == source);
            // What a rank wrote before it went is there: look once more before giving it up.
            if (gone && peers.seen(counter, source) < expected) {
                throw lost(
                        r,
                        state == MemberState.LOST ? " is lost" : " has left the group",
                        phase + describe(counter, source, expected),
                        counted(phase, r, expected, peers.heard(counter, source)));
            }
        }
    }

    private void checkOrder(Counter counter, int source, long expected, String phase) {
        requireMember(phase);
        checkBeginnings(counter, source, expected, phase);
        Map<Integer, List<Integer>> recoveries = recoveries();
        if (recoveries.containsKey(source)) {
            // The mismatch is the cause and the recovery its consequence, so report the mismatch. Its counter may have
            // arrived since the first look.
            checkBeginnings(counter, source, expected, phase);
            checkLostOf(source, recoveries.get(source), counter, expected, source, phase);
            throw recovering(
                    source,
                    phase + " cannot end" + describe(counter, source, expected),
                    counted(phase, source, expected, peers.seen(counter, source)));
        }
        recoveries.forEach((rank, leftOut) -> checkLostOf(rank, leftOut, counter, expected, source, phase));
    }

    private void checkBeginnings(Counter counter, int source, long expected, String phase) {
        for (Counter other : BEGINNINGS) {
            if (begun.containsKey(counter)
                    && other != counter
                    && peers.seen(other, source) > begun.getOrDefault(other, 0L)
                    && peers.seen(counter, source) < expected) {
                throw new EpMismatchException(peers.label(source) + " has begun " + operation(other) + " number "
                        + peers.seen(other, source) + " while this rank is in " + phase
                        + describe(counter, source, expected)
                        + "; all ranks must call the operations of a buffer in the same order");
            }
        }
    }

    private static String waiting(int source, String phase) {
        return "this rank waited for rank " + source + " in phase \"" + phase + "\"";
    }

    /** The recoveries of ranks that this one has not masked: nothing of the others ends a wait. */
    private Map<Integer, List<Integer>> recoveries() {
        Map<Integer, List<Integer>> all =
                new TreeMap<>(watch.map(RecoveryWatch::recoveries).orElse(Map.of()));
        all.keySet().removeIf(mask::has);
        return all;
    }

    /** A rank that recovers may have heard of a death before this one did. */
    private void checkLostOf(
            int rank, List<Integer> leftOut, Counter counter, long expected, int source, String phase) {
        Optional<EpPeerLostException> loss = foundLost(
                rank,
                leftOut,
                phase + describe(counter, source, expected),
                lost -> counted(phase, lost, expected, peers.heard(counter, source)));
        if (loss.isPresent()) {
            throw loss.get();
        }
    }

    /** The loss that another rank has found, if it is news here. */
    private Optional<EpPeerLostException> foundLost(
            int finder, List<Integer> leftOut, String during, IntFunction<EpFailure> failure) {
        return leftOut.stream()
                .filter(this::isNews)
                .findFirst()
                .map(lost -> lost(lost, " is lost, as reported by rank " + finder + ",", during, failure.apply(lost)));
    }

    private EpPeerLostException lost(int rank, String how, String during, EpFailure failure) {
        return new EpPeerLostException(
                peers.label(rank) + how + " during " + during + "; call recover to go on without rank " + rank,
                failure);
    }

    private EpTimeoutException recovering(int rank, String what, EpFailure failure) {
        return new EpTimeoutException(
                peers.label(rank) + " has begun a recovery, so " + what + "; call recover on this rank, too", failure);
    }

    /**
     * Why a wait that a device made ended without success, as precisely as can be told now.
     *
     * @param timeout of the operation, for the message
     */
    public EpException failure(Counter counter, int source, long expected, Duration timeout, String phase) {
        try {
            checkMembers(counter, source, expected, phase);
            checkOrder(counter, source, expected, phase);
            if (closing) {
                return new EpStateException("the buffer was closed while " + waiting(source, phase));
            }
            requireHeard(source);
            return timeout(counter, source, expected, new Deadline(0, timeout), phase);
        } catch (EpPeerLostException e) {
            return during(e, counter, source, expected, phase);
        } catch (EpException e) {
            return e;
        }
    }

    /** Asks the backend of a rank that posts whether it has lost that rank: it says so once a counter has no news. */
    private void requireHeard(int source) {
        if (peers.isPostedFrom(source)) {
            for (Counter counter : Counter.values()) {
                peers.seen(counter, source);
            }
        }
    }

    /** A loss with what this rank was at: a backend that has lost a rank knows neither that nor how far that rank came. */
    private EpPeerLostException during(
            EpPeerLostException e, Counter counter, int source, long expected, String phase) {
        return e.failure().phase().equals(phase)
                ? e
                : during(
                        e,
                        phase + describe(counter, source, expected),
                        peers.about(e.failure())
                                .phase(phase)
                                .expected(expected)
                                .seen(peers.heard(counter, source))
                                .build());
    }

    private static EpPeerLostException during(EpPeerLostException e, String during, EpFailure failure) {
        EpPeerLostException lost = new EpPeerLostException(
                e.getMessage() + "; during " + during + "; call recover to go on without rank "
                        + e.failure().peer(),
                failure,
                e.recourse());
        lost.initCause(e);
        return lost;
    }

    /** The same for a wait that this host ended: a rank that is lost is the reason, also where what was waited for came after all. */
    public EpException ended(Counter counter, int source, long expected, Duration timeout, String phase) {
        if (isLeftOut()) {
            // Which ranks it has lost is a consequence.
            return failure(counter, source, expected, timeout, phase);
        }
        int lost = firstLost();
        return lost >= 0
                ? lost(
                        lost,
                        " is lost",
                        phase + describe(counter, source, expected),
                        counted(phase, lost, expected, peers.heard(counter, source)))
                : failure(counter, source, expected, timeout, phase);
    }

    /**
     * Why a wait ended that was for no rank's counter: a lost rank or a closed buffer, where it is that, or else the wait's own
     * reason.
     *
     * @param peer that the wait concerned; its backend is asked whether it has lost it
     */
    public EpException endedOr(int peer, String phase, Supplier<EpException> reason) {
        int first = firstLost();
        if (first >= 0) {
            return lost(first, " is lost", phase, about(phase, first).build());
        }
        if (closing) {
            return new EpStateException("the buffer was closed during " + phase);
        }
        try {
            requireMember(phase);
        } catch (EpPeerLostException e) {
            return e;
        }
        Map<Integer, List<Integer>> recoveries = recoveries();
        for (Map.Entry<Integer, List<Integer>> one : recoveries.entrySet()) {
            Optional<EpPeerLostException> loss = foundLost(
                    one.getKey(),
                    one.getValue(),
                    phase,
                    lost -> about(phase, lost).build());
            if (loss.isPresent()) {
                return loss.get();
            }
        }
        if (recoveries.containsKey(peer)) {
            return recovering(
                    peer, phase + " cannot end", about(phase, peer).expected(1).build());
        }
        try {
            requireHeard(peer);
        } catch (EpPeerLostException e) {
            return during(e, phase, peers.about(e.failure()).phase(phase).build());
        }
        return reason.get();
    }

    /** Who a rank is and how it is reached, for messages. */
    public String label(int rank) {
        return peers.label(rank);
    }

    /** Starts a failure with a rank, with what the plan knows of that rank; -1 for several ranks. */
    public EpFailure.Builder about(String phase, int rank) {
        return peers.about(phase, rank);
    }

    private EpFailure counted(String phase, int rank, long expected, long seen) {
        return about(phase, rank).expected(expected).seen(seen).build();
    }

    /** Whether the loss of a rank ends operations here. Others may suspect this rank wrongly; recover decides. */
    private boolean isNews(int lost) {
        return !mask.has(lost) && lost != peers.rank();
    }

    /** Ranks that no operation which has begun may wait for: those that have left the group, or are not masked and recover. */
    public List<Integer> absent() {
        List<Integer> left = new ArrayList<>(recoveries().keySet());
        for (int r = 0; r < peers.ranks(); r++) {
            if (r != peers.rank() && bootstrap.state(r) == MemberState.LEFT) {
                left.add(r);
            }
        }
        return left;
    }

    /** True when a rank that is not masked is known to be lost, or a rank that recovers wants to leave it out. */
    public boolean isAnyLost() {
        return firstLost() >= 0
                || recoveries().values().stream()
                        .anyMatch(leftOut -> leftOut.stream().anyMatch(this::isNews));
    }

    /** The lowest rank that is lost and not masked; -1 for none. */
    private int firstLost() {
        for (int r = 0; r < peers.ranks(); r++) {
            if (isLost(r)) {
                return r;
            }
        }
        return -1;
    }

    private boolean isLost(int rank) {
        return rank != peers.rank() && !mask.has(rank) && bootstrap.state(rank) == MemberState.LOST;
    }

    private EpTimeoutException timeout(Counter counter, int source, long expected, Deadline deadline, String phase) {
        long seen = peers.seen(counter, source);
        return new EpTimeoutException(
                phase + " waited " + deadline.whole().toMillis() + " ms for " + peers.label(source)
                        + describe(counter, source, expected)
                        + "; see whether that rank is stuck or has not called the operation, then call recover,"
                        + " or raise ep.timeout",
                counted(phase, source, expected, seen));
    }

    private String describe(Counter counter, int source, long expected) {
        return " (progress counter " + name(counter) + " of rank " + source + " is " + peers.heard(counter, source)
                + ", expected " + expected + ")";
    }

    /** The operation that one of {@link #BEGINNINGS} counts, for people. */
    private static String operation(Counter counter) {
        return switch (counter) {
            case HT_ENTER -> "high-throughput operation";
            case LL_DISPATCH -> "low-latency dispatch";
            case LL_COMBINE -> "low-latency combine";
            default -> name(counter);
        };
    }

    private static String name(Counter counter) {
        return counter.name().toLowerCase(Locale.ROOT);
    }
}
