package org.ep4j.engine.gpu;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.LongStream;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpMismatchException;
import org.ep4j.EpOverflowException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.layout.Announcement;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.sync.Announcements;
import org.ep4j.engine.sync.Waits;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.transport.memory.HostMemory;

/**
 * Converts the record of kernels ({@code struct Failure} of {@code op.cu}) to exceptions. A failed wait voids all operations
 * that were queued meanwhile; a refused operation affects no other. Safe for several threads.
 */
@SuppressWarnings("EnumOrdinal") // kernels know the enums by their order
final class KernelFailures {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Numbers of recorded operations are above this one. */
    static final long RECORDED = 1L << 62;

    /** Bytes of the record. */
    static final int BYTES = 8 * 25;

    private static final int KIND = 0;
    private static final int PHASE = 8;
    private static final int COUNTER = 16;
    private static final int PEER = 24;
    private static final int EXPECTED = 32;
    private static final int SEEN = 40;
    private static final int VALUE = 48;
    private static final int SEQUENCE = 56;
    private static final int MINE = 64;
    private static final int THEIRS = 128;
    private static final int DEADLINE = 192;

    private static final int MOST_KEPT = 64;

    /** Refused operations that are noted after the recorded one. */
    private static final long MOST_REFUSED = 15;

    private final PinnedMemory pinned;
    private final HostMemory record;
    private final EpShape shape;
    private final Waits waits;
    private boolean closed;
    private final List<Voided> voids = new ArrayList<>();
    /** Entries of {@link #voids} that no caller has received yet. */
    private final List<Voided> unreported = new ArrayList<>();

    /** Runs of recorded operations that may still fail. */
    private final List<Replay> replays = new ArrayList<>();

    /** The operations up to this one are done, and their failures are taken. */
    private long ended;

    /** A run of a graph: its operations by the numbers that kernels know, and the number of the first one in this run. */
    private record Replay(List<Long> numbers, long first) {
        long last() {
            return first + numbers.size() - 1;
        }
    }

    /**
     * Second halves of operations that may still fail, or whose failures are not taken. They have numbers of their own, in the order
     * in which kernels are queued, but do not count as operations.
     */
    private final Deque<Long> seconds = new ArrayDeque<>();

    /**
     * Operations from {@code first} to {@code last}, which ended with {@code cause}.
     *
     * @param seconds numbers among them that are second halves
     */
    private record Voided(long first, long last, List<Long> seconds, EpException cause) {
        /** Counts the operations from {@code first} to {@code last}, without second halves. */
        long count(long from, long to) {
            long halves = seconds.stream()
                    .filter(number -> number >= from && number <= to)
                    .count();
            return to - from + 1 - halves;
        }
    }

    /** Kinds of failures, in the order of {@code enum FailureKind} in {@code op.cu}. */
    enum Kind {
        NOTHING,
        WAIT,
        MISMATCH,
        BAD_ID,
        OVERFLOW,
        DUPLICATES,
        ABORTED,
        OUT_TOO_SMALL,
        VOID_HANDLE,
        NO_ROOM,
        RING;

        /** Failures that keep all kernels from working. */
        private static final Set<Kind> BREAKING = EnumSet.of(WAIT, MISMATCH, ABORTED, NO_ROOM, RING);

        long code() {
            return ordinal();
        }

        private static Kind of(long code) {
            return code >= 0 && code < values().length ? values()[(int) code] : NOTHING;
        }
    }

    /** Steps of an operation in which kernels wait, in the order of {@code enum Phase} in {@code op.cu}. */
    enum Phase {
        BEGIN("begin"),
        DISPATCH_ROWS("dispatch rows"),
        COMBINE_ROWS("combine rows"),
        COMBINE_END("combine end"),
        LL_DISPATCH_CREDIT("low-latency dispatch credit"),
        LL_DISPATCH_RECEIVE("low-latency dispatch receive"),
        LL_COMBINE_CREDIT("low-latency combine credit"),
        LL_COMBINE_RECEIVE("low-latency combine receive");

        private final String text;

        Phase(String text) {
            this.text = text;
        }
    }

    KernelFailures(PinnedMemory pinned, EpShape shape, Waits waits) {
        this.pinned = pinned;
        this.record = pinned.memory();
        this.shape = shape;
        this.waits = waits;
    }

    long deviceAddress() {
        return pinned.deviceAddress();
    }

    /** Returns whether kernels recorded a failure that is not taken yet. */
    synchronized boolean isPending() {
        return !closed && record.getLongAcquire(KIND) != 0;
    }

    /** Returns whether the pending failure keeps all kernels from working, and is not of one operation only. */
    synchronized boolean isBroken() {
        return !closed && isBroken(record.getLongAcquire(KIND));
    }

    /** Returns whether a kernel gave up its place in a ring of commands. */
    synchronized boolean isOfRing() {
        return !closed && Kind.of(record.getLongAcquire(KIND)) == Kind.RING;
    }

    private static boolean isBroken(long kind) {
        return Kind.BREAKING.contains(Kind.of(kind));
    }

    /** Takes the pending failure, after {@code newest} was the last operation queued. Returns whether it keeps all kernels from working. */
    synchronized boolean take(long newest) {
        while (isPending()) {
            long kind = record.getLongAcquire(KIND);
            long number = record.getLong(SEQUENCE);
            List<Long> also = isBroken(kind) ? List.of() : refusedSince();
            EpException cause = exception();
            // A wait that fails while a refused operation is read is recorded over it.
            if (!record.replaceLong(KIND, kind, 0)) {
                continue;
            }
            if (isBroken(kind)) {
                long first = firstRun(number);
                List<Long> halves =
                        seconds.stream().filter(second -> second >= first).toList();
                add(new Voided(first, newest, halves, cause));
            } else {
                refused(number, cause);
                also.forEach(other -> refused(other, cause));
            }
            while (voids.size() > MOST_KEPT) {
                unreported.remove(voids.remove(0));
            }
            return isBroken(kind);
        }
        return false;
    }

    private void refused(long number, EpException cause) {
        List<Long> ran = runs(number);
        if (ran.isEmpty()) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    () -> "an operation was refused (" + cause.getMessage()
                            + "); it is part of a graph that was not recorded with GpuStream.capture");
        }
        ran.forEach(one -> add(new Voided(one, one, List.of(), cause)));
    }

    private void add(Voided failed) {
        voids.add(failed);
        unreported.add(failed);
    }

    /** Returns the operations that were refused after the recorded one, mostly because they use its results. */
    private List<Long> refusedSince() {
        long count = Math.min(MOST_REFUSED, record.getLongAcquire(MINE));
        return LongStream.rangeClosed(1, count)
                .mapToObj(i -> record.getLong(MINE + 8 * i))
                .toList();
    }

    /** Adds a queued run of a graph: a recorded operation has one number for kernels in all runs. */
    synchronized void replayed(List<Long> numbers, long first) {
        replays.add(new Replay(numbers, first));
    }

    /** Adds a queued second half of an operation. */
    synchronized void second(long number) {
        seconds.add(number);
    }

    /** Forgets runs of operations up to {@code number}, which are done, and whose failures are taken. */
    synchronized void ended(long number) {
        if (number > ended) {
            ended = number;
            replays.removeIf(replay -> replay.last() <= number);
            while (!seconds.isEmpty() && seconds.getFirst() <= number) {
                seconds.removeFirst();
            }
        }
    }

    /** Returns the runs of an operation that may have failed. */
    private List<Long> runs(long number) {
        if (number < RECORDED) {
            return List.of(number);
        }
        return replays.stream()
                .filter(replay -> replay.numbers().contains(number))
                .map(replay -> replay.first() + replay.numbers().indexOf(number))
                .toList();
    }

    /** Returns the first run of an operation that may have failed; if there is none, the first operation that may have. */
    private long firstRun(long number) {
        return runs(number).stream().findFirst().orElse(ended + 1);
    }

    /** Counts the operations after {@code from}, up to {@code to}, that failed or were void, without second halves. */
    synchronized long failed(long from, long to) {
        List<Voided> ordered = new ArrayList<>(voids);
        ordered.sort(Comparator.comparingLong(Voided::first));
        long failed = 0;
        long counted = from;
        for (Voided one : ordered) {
            long first = Math.max(one.first(), counted + 1);
            long last = Math.min(one.last(), to);
            if (first <= last) {
                failed += one.count(first, last);
                counted = last;
            }
        }
        return failed;
    }

    /** Throws the failure of an operation from {@code first} to {@code last}, if one failed. */
    synchronized void check(long first, long last) {
        for (Voided one : voids) {
            if (last >= one.first() && first <= one.last()) {
                // A caller that gets this failure knows that the results of operations before it, or behind it in a
                // replay, cannot be used.
                unreported.removeIf(failed -> failed.first() <= last);
                throw one.cause();
            }
        }
    }

    /** Takes the first failure that was not reported, since no caller awaited its operation. */
    synchronized Optional<EpException> takeUnreported() {
        Optional<EpException> first = unreported.stream().map(Voided::cause).findFirst();
        unreported.clear();
        return first;
    }

    private EpException exception() {
        Duration timeout = Duration.ofNanos(record.getLong(DEADLINE));
        Kind kind = Kind.of(record.getLong(KIND));
        long peer = record.getLong(PEER);
        return switch (kind) {
            case WAIT ->
                waits.failure(
                        Counter.values()[(int) record.getLong(COUNTER)],
                        (int) peer,
                        record.getLong(EXPECTED),
                        timeout,
                        phase());
            case ABORTED ->
                waits.ended(
                        Counter.values()[(int) record.getLong(COUNTER)],
                        (int) peer,
                        record.getLong(EXPECTED),
                        timeout,
                        phase());
            case MISMATCH -> mismatch((int) record.getLong(COUNTER), (int) peer);
            case BAD_ID ->
                RequestChecks.idOutOfRange(
                        record.getLong(EXPECTED), record.getLong(SEEN), record.getLong(VALUE), shape.experts());
            case DUPLICATES ->
                RequestChecks.duplicateIds(record.getLong(SEEN), record.getLong(EXPECTED), shape.maxLowLatencyTokens());
            case OVERFLOW ->
                new EpOverflowException("rank " + peer + " would receive " + record.getLong(SEEN)
                        + " rows, but its buffer has room for only maxReceivedRows = " + record.getLong(EXPECTED)
                        + "; no row was sent; raise maxReceivedRows (0 can never overflow) or balance the routing");
            case OUT_TOO_SMALL ->
                new EpOverflowException("the smallest of the tensors given for the rows, out and the like, holds "
                        + record.getLong(EXPECTED) + " rows, but " + record.getLong(SEEN)
                        + " rows arrived; the exchange itself is complete on all ranks; pass larger tensors"
                        + " to the next dispatch");
            case VOID_HANDLE -> new EpStateException("the dispatch of this handle failed; dispatch again");
            case NO_ROOM ->
                new EpTimeoutException(
                        "only " + record.getLong(SEEN) + " of " + record.getLong(EXPECTED)
                                + " blocks of the operation found room on the GPU within " + timeout.toMillis()
                                + " ms; other kernels occupy the multiprocessors: lower ep.gpu.sms or the call's"
                                + " OpOptions.multiprocessors, run fewer other kernels at the same time, or raise"
                                + " ep.timeout",
                        about((int) peer));
            case RING -> waits.endedOr((int) peer, phase(), () -> ring((int) peer, timeout));
            case NOTHING -> throw new IllegalStateException("there is no failure to describe");
        };
    }

    /** Compares the announcements of two ranks. */
    private EpMismatchException mismatch(int kind, int peer) {
        String who = waits.label(peer);
        return kind == Announcement.HIGH_THROUGHPUT.ordinal()
                ? Announcements.highThroughput(who, waits.mask(), words(MINE), words(THEIRS))
                : Announcements.lowLatency(
                        who, waits.mask(), kind == Announcement.LL_DISPATCH.ordinal(), words(MINE), words(THEIRS));
    }

    private EpException ring(int peer, Duration timeout) {
        return new EpTimeoutException(
                "the ring of " + record.getLong(VALUE) + " commands for " + waits.label(peer) + " was full during "
                        + phase() + " until the deadline of " + timeout.toMillis()
                        + " ms, or until that rank was treated as lost:"
                        + " the proxy thread has taken " + record.getLong(SEEN) + " commands, but"
                        + " the kernel cannot continue until " + record.getLong(EXPECTED)
                        + " are taken; see whether that rank is stuck and what threads named ep4j-proxy do (jstack),"
                        + " give these threads processors (ep.proxy.threads), or raise ep.timeout",
                about(peer));
    }

    private EpFailure about(int peer) {
        return waits.about(phase(), peer)
                .expected(record.getLong(EXPECTED))
                .seen(record.getLong(SEEN))
                .build();
    }

    private String phase() {
        return Phase.values()[(int) record.getLong(PHASE)].text;
    }

    private long[] words(int offset) {
        long[] words = new long[8];
        for (int i = 0; i < words.length; i++) {
            words[i] = record.getLong(offset + 8L * i);
        }
        return words;
    }

    synchronized void close() {
        closed = true;
        pinned.close();
    }
}
