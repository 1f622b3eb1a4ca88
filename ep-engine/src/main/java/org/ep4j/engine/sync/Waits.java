package org.ep4j.engine.sync;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
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
 * Waits for counters: spins, then yields, then sleeps until the counter advances, so that ranks that wait leave the CPU core to
 * those that work. A rank that posts cannot wake this one; a wait for it parks for short times instead. A wait ends with an
 * exception at the deadline, when a rank that is not masked dies, when the awaited rank recovers or calls another operation, or on close.
 */
public final class Waits {
    /** About 20 us of spinning: longer than a hop, shorter than a time slice. */
    private static final int SPINS = 1000;

    /** With more ranks than cores a spinning rank only keeps the awaited one from running. */
    private static final int CROWDED_SPINS = 10;

    /** Then so many yields before sleeping: a yield takes about 1 us where no other thread wants the core. */
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

    /** Counters that a rank advances when it begins an operation; all ranks begin them in the same order. */
    private static final Counter[] BEGINNINGS = {Counter.HT_ENTER, Counter.LL_DISPATCH, Counter.LL_COMBINE};

    private final Peers<?> peers;
    private final Bootstrap bootstrap;
    private final int spins;
    private final Map<Counter, Long> begun = new EnumMap<>(Counter.class);
    private volatile Mask mask = Mask.NONE;
    private volatile boolean closing;
    /** Present for a buffer that can recover. */
    private Optional<RecoveryWatch> watch = Optional.empty();

    /** A wait, as errors describe it. */
    private record Wait(Counter counter, int source, long expected, String phase) {
        @Override
        public String toString() {
            return "this rank waited for rank " + source + " in phase \"" + phase + "\"";
        }
    }

    public Waits(Peers<?> peers, Bootstrap bootstrap, int ranksOnHost) {
        this.peers = peers;
        this.bootstrap = bootstrap;
        this.spins = ranksOnHost <= Runtime.getRuntime().availableProcessors() ? SPINS : CROWDED_SPINS;
        restart(0, 0, 0);
    }

    /** Lets waits end when other ranks recover. Called before the first operation. */
    public void watch(RecoveryWatch ofBuffer) {
        watch = Optional.of(ofBuffer);
    }

    /** See {@link RecoveryWatch#requireReady}. */
    public void requireReady() {
        watch.ifPresent(RecoveryWatch::requireReady);
    }

    /** See {@link RecoveryWatch#requireMember}. */
    public void requireMember(String phase) {
        watch.ifPresent(ofBuffer -> ofBuffer.requireMember(phase));
    }

    /** See {@link RecoveryWatch#isLeftOut}. For any thread. */
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

    /** Sets the deadline of calls of the operation that begins, besides those that are given one. */
    public void until(Deadline deadline) {
        peers.until(deadline);
    }

    /** Records that this rank begins operation {@code number} of a kind; called by the thread that runs operations. */
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
     * @return nanoseconds waited, 0 when the counter had it already
     */
    public long await(Counter counter, int source, long expected, Deadline deadline, String phase) {
        try {
            return peers.reached(counter, source, expected)
                    ? 0
                    : await(new Wait(counter, source, expected, phase), deadline);
        } catch (EpPeerLostException e) {
            throw during(new Wait(counter, source, expected, phase), e);
        }
    }

    private long await(Wait wait, Deadline deadline) {
        long start = System.nanoTime();
        try {
            poll(wait, deadline);
        } catch (EpPeerLostException | EpTimeoutException e) {
            // The counter may have arrived since the last poll: before the source was lost, or finished the operation
            // and called recover.
            if (!peers.hasReached(wait.counter(), wait.source(), wait.expected())) {
                throw e;
            }
        }
        return System.nanoTime() - start;
    }

    private void poll(Wait wait, Deadline deadline) {
        long changes = -1;
        boolean slept = false;
        for (int round = 0; !peers.reached(wait.counter(), wait.source(), wait.expected()); round++) {
            long now = bootstrap.stateChanges();
            if (now != changes) {
                changes = now;
                checkMembers(wait);
            }
            if (closing) {
                throw new EpStateException("the buffer was closed while " + wait);
            }
            if (round < spins) {
                Thread.onSpinWait();
                continue;
            }
            if (slept || (round - spins) % CHECKS == 0) {
                check(wait, deadline);
            }
            slept = pause(round - spins, wait);
        }
    }

    private void check(Wait wait, Deadline deadline) {
        checkOrder(wait);
        if (deadline.passed()) {
            throw timeout(wait, deadline.whole());
        }
        if (Thread.interrupted()) {
            Thread.currentThread().interrupt();
            throw new EpStateException("interrupted while " + wait);
        }
    }

    /** Lets other threads run; true after a sleep. */
    @SuppressWarnings("ThreadPriorityCheck") // giving up the core is what lets the awaited rank run
    private boolean pause(int round, Wait wait) {
        if (round >= YIELDS && peers.sleep(wait.counter(), wait.source(), wait.expected())) {
            return true;
        }
        if (round < YIELDS_BEFORE_PARKING) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(PARK_NANOS);
        }
        return false;
    }

    private void checkMembers(Wait wait) {
        requireMember(wait.phase());
        for (int r = 0; r < peers.ranks(); r++) {
            if (r == peers.rank() || mask.has(r)) {
                continue;
            }
            MemberState state = bootstrap.state(r);
            boolean gone = state == MemberState.LOST || (state == MemberState.LEFT && r == wait.source());
            if (!gone) {
                continue;
            }
            // What a rank wrote before it died or left is there, so the counter is read once more.
            long seen = seen(wait);
            if (seen < wait.expected()) {
                throw lost(r, state == MemberState.LOST ? " is lost" : " has left the group", wait, seen);
            }
        }
    }

    private void checkOrder(Wait wait) {
        requireMember(wait.phase());
        checkBeginnings(wait);
        Map<Integer, List<Integer>> recoveries = recoveries();
        int source = wait.source();
        if (recoveries.containsKey(source)) {
            // The mismatch is the cause and the recovery its consequence, so report the mismatch. Its counter may have
            // arrived since the check above.
            checkBeginnings(wait);
            checkFoundLost(source, recoveries.get(source), wait);
            long seen = seen(wait);
            throw recovering(source, wait.phase() + " cannot end" + describe(wait, seen), counted(wait, source, seen));
        }
        recoveries.forEach((rank, leftOut) -> checkFoundLost(rank, leftOut, wait));
    }

    private void checkBeginnings(Wait wait) {
        for (Counter other : BEGINNINGS) {
            if (begun.containsKey(wait.counter())
                    && other != wait.counter()
                    && peers.seen(other, wait.source()) > begun.getOrDefault(other, 0L)
                    && seen(wait) < wait.expected()) {
                throw new EpMismatchException(peers.label(wait.source()) + " has begun " + operation(other) + " number "
                        + peers.seen(other, wait.source()) + " while this rank is in " + wait.phase()
                        + describe(wait, lastSeen(wait))
                        + "; all ranks must call the operations of a buffer in the same order");
            }
        }
    }

    /** Returns the recoveries of ranks that this one has not masked: nothing that the others do ends a wait. */
    private Map<Integer, List<Integer>> recoveries() {
        Map<Integer, List<Integer>> all =
                new TreeMap<>(watch.map(RecoveryWatch::recoveries).orElse(Map.of()));
        all.keySet().removeIf(mask::has);
        return all;
    }

    /** A rank that recovers may know of a death before this one does. */
    private void checkFoundLost(int finder, List<Integer> leftOut, Wait wait) {
        OptionalInt lost = firstNewLoss(leftOut);
        if (lost.isPresent()) {
            throw lost(lost.getAsInt(), foundBy(finder), wait, lastSeen(wait));
        }
    }

    private static String foundBy(int finder) {
        return " is lost, as reported by rank " + finder + ",";
    }

    private EpPeerLostException lost(int rank, String how, Wait wait, long seen) {
        return lost(rank, how, wait.phase() + describe(wait, seen), counted(wait, rank, seen));
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
     * Explains, from what is known now, why a wait that a device made ended without success.
     *
     * @param timeout of the operation, for the message
     */
    public EpException failure(Counter counter, int source, long expected, Duration timeout, String phase) {
        return failure(new Wait(counter, source, expected, phase), timeout);
    }

    private EpException failure(Wait wait, Duration timeout) {
        try {
            checkMembers(wait);
            checkOrder(wait);
            if (closing) {
                return new EpStateException("the buffer was closed while " + wait);
            }
            requireConnected(wait.source());
            return timeout(wait, timeout);
        } catch (EpPeerLostException e) {
            return during(wait, e);
        } catch (EpException e) {
            return e;
        }
    }

    /** Makes the backend of a rank that posts throw if it has lost that rank, which it does once a counter has nothing new. */
    private void requireConnected(int source) {
        if (peers.isPostedFrom(source)) {
            for (Counter counter : Counter.values()) {
                peers.seen(counter, source);
            }
        }
    }

    /** Adds phase and counters to a loss: a backend that has lost a rank knows neither. */
    private EpPeerLostException during(Wait wait, EpPeerLostException e) {
        if (e.failure().phase().equals(wait.phase())) {
            return e;
        }
        long seen = lastSeen(wait);
        return during(
                e,
                wait.phase() + describe(wait, seen),
                peers.about(e.failure())
                        .phase(wait.phase())
                        .expected(wait.expected())
                        .seen(seen)
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

    /** As {@link #failure}, for a wait that this host ended: a lost rank is the reason, even if the counter has arrived since. */
    public EpException ended(Counter counter, int source, long expected, Duration timeout, String phase) {
        Wait wait = new Wait(counter, source, expected, phase);
        // If this rank was left out, the ranks that it has lost are a consequence.
        int lost = isLeftOut() ? -1 : firstLost();
        return lost >= 0 ? lost(lost, " is lost", wait, lastSeen(wait)) : failure(wait, timeout);
    }

    /**
     * Explains why a wait ended that was for no rank's counter: a lost rank or a closed buffer, or else the wait's own reason.
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
            OptionalInt lost = firstNewLoss(one.getValue());
            if (lost.isPresent()) {
                int rank = lost.getAsInt();
                return lost(
                        rank, foundBy(one.getKey()), phase, about(phase, rank).build());
            }
        }
        if (recoveries.containsKey(peer)) {
            return recovering(
                    peer, phase + " cannot end", about(phase, peer).expected(1).build());
        }
        try {
            requireConnected(peer);
        } catch (EpPeerLostException e) {
            return during(e, phase, peers.about(e.failure()).phase(phase).build());
        }
        return reason.get();
    }

    /** See {@link Peers#label}. */
    public String label(int rank) {
        return peers.label(rank);
    }

    /** See {@link Peers#about(String, int)}. */
    public EpFailure.Builder about(String phase, int rank) {
        return peers.about(phase, rank);
    }

    private EpFailure counted(Wait wait, int rank, long seen) {
        return about(wait.phase(), rank).expected(wait.expected()).seen(seen).build();
    }

    private long seen(Wait wait) {
        return peers.seen(wait.counter(), wait.source());
    }

    private long lastSeen(Wait wait) {
        return peers.lastSeen(wait.counter(), wait.source());
    }

    /** Returns the first of some lost ranks that ends operations here. Others may suspect this rank wrongly; recover decides. */
    private OptionalInt firstNewLoss(List<Integer> lost) {
        return lost.stream()
                .mapToInt(rank -> rank)
                .filter(rank -> !mask.has(rank) && rank != peers.rank())
                .findFirst();
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

    /** Returns whether a rank that is not masked is known to be lost, or a rank that recovers wants to leave it out. */
    public boolean isAnyLost() {
        return firstLost() >= 0
                || recoveries().values().stream()
                        .anyMatch(leftOut -> firstNewLoss(leftOut).isPresent());
    }

    /** The lowest rank that is lost and not masked; -1 for none. */
    private int firstLost() {
        for (int r = 0; r < peers.ranks(); r++) {
            if (r != peers.rank() && !mask.has(r) && bootstrap.state(r) == MemberState.LOST) {
                return r;
            }
        }
        return -1;
    }

    private EpTimeoutException timeout(Wait wait, Duration waited) {
        long seen = seen(wait);
        return new EpTimeoutException(
                wait.phase() + " waited " + waited.toMillis() + " ms for " + peers.label(wait.source())
                        + describe(wait, seen)
                        + "; see whether that rank is stuck or has not called the operation, then call recover,"
                        + " or raise ep.timeout",
                counted(wait, wait.source(), seen));
    }

    private static String describe(Wait wait, long seen) {
        return " (progress counter " + name(wait.counter()) + " of rank " + wait.source() + " is " + seen
                + ", expected " + wait.expected() + ")";
    }

    /** Name of the operation that one of {@link #BEGINNINGS} counts. */
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
