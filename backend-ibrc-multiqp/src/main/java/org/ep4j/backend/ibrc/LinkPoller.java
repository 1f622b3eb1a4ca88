package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.ep4j.transport.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * Polling of one link: the commands that other threads leave for the thread that polls, how often threads made progress,
 * and how long a call may wait.
 *
 * <p>A thread polls while it holds the lock of the link. Only that thread calls {@link #countPass},
 * {@link #runCommands}, {@link #beginCall} and {@link #isCallOver}. All threads may call {@link #submit},
 * {@link #hasCommands} and {@link #passes}.
 */
final class LinkPoller {
    private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();

    /** Reading it costs less than polling the queue. */
    private volatile boolean hasCommands;

    /** Written by the thread that polls, read by all. */
    private final AtomicLong passes = new AtomicLong();

    // Of the call that holds the lock.
    private Duration longest = Duration.ZERO;
    private boolean waiting;
    private boolean late;
    private long end;

    /** Leaves a command for the thread that polls next. */
    void submit(Runnable command) {
        commands.add(command);
        hasCommands = true;
    }

    boolean hasCommands() {
        return hasCommands;
    }

    /** Runs all commands in order while {@code wanted} returns true, and drops the rest. */
    void runCommands(BooleanSupplier wanted) {
        // Cleared first, so that a command which is submitted from here on sets it again.
        hasCommands = false;
        for (Runnable next = commands.poll(); next != null; next = commands.poll()) {
            if (wanted.getAsBoolean()) {
                next.run();
            }
        }
    }

    /** There is one writer at a time, so this needs no atomic operation of the processor. */
    void countPass() {
        passes.setOpaque(passes.getPlain() + 1);
    }

    /** Number of progress passes so far; a pass may poll several times. */
    long passes() {
        return passes.getOpaque();
    }

    /**
     * Begins a call of the thread that holds the lock.
     *
     * @param most longest wait, counted from the first call of {@link #isCallOver}: calls that never wait read no clock
     */
    void beginCall(Duration most) {
        longest = most;
        waiting = false;
        late = false;
    }

    /** As {@link #beginCall(Duration)}, for a call whose caller set the deadline, which may have passed. */
    void beginCall(Deadline deadline) {
        waiting = true;
        late = false;
        end = deadline.nanoTime();
    }

    /**
     * Returns true if the call has waited for too long, and has polled once since its deadline passed: a thread that
     * got no processor until then has not polled yet. Called after each poll.
     */
    boolean isCallOver() {
        if (!waiting) {
            waiting = true;
            end = Deadline.in(longest).nanoTime();
        }
        boolean polledLate = late;
        late = end - System.nanoTime() <= 0;
        return polledLate;
    }

    /**
     * Polls of a background thread, which leaves a link alone while other threads poll it. Each such thread has one for
     * each link, and uses it alone.
     */
    static final class Background {
        private final Link link;
        private long seen;

        Background(Link link) {
            this.link = link;
        }

        /**
         * Makes progress on the link, unless another thread has made some since the last call.
         *
         * @return true if this thread polled, and anything happened
         */
        boolean poll() {
            long now = link.passes();
            if (now != seen) {
                seen = now;
                return false;
            }
            boolean moved = link.tryProgress();
            seen = link.passes();
            return moved;
        }
    }

    /**
     * Number of polls within one call that finds nothing. With a call for each poll, the calls would take most of the
     * time between an arrival and its reader. A thread that asks for one peer only, such as one that waits for the
     * peer's counter, loses nothing by many polls; a thread that asks for several peers in turn polls each once. Safe
     * for use from several threads, which count as several peers.
     */
    static final class Budget {
        /** A poll of an empty queue takes a NIC's library some 10 ns, so a call stays below a microsecond. */
        private static final int MANY = 32;

        // A hint: whatever a thread reads here is one of the links.
        private @Nullable Link last;

        /** Returns the number of polls for a call that concerns a link. */
        int of(Link link) {
            if (last == link) {
                return MANY;
            }
            last = link;
            return 1;
        }
    }
}
