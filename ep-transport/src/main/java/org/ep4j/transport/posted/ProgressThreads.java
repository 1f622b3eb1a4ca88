package org.ep4j.transport.posted;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.Bootstrap;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.PeerWatch;
import org.ep4j.transport.TrafficReports;

/**
 * Threads that poll connections which no call polls: most providers move bytes, and all detect failures, only while somebody polls. The first
 * thread also looks for peers that are gone, reports traffic and logs warnings.
 */
final class ProgressThreads {
    private static final System.Logger LOGGER = System.getLogger(ProgressThreads.class.getName());

    private static final Duration JOIN = Duration.ofSeconds(2);

    /** Time for a pass that a connection held up until the connection ended. */
    private static final Duration LAST_PASS = Duration.ofMillis(200);

    /** Number of stack frames logged for a thread that fails to stop. */
    private static final int FRAMES = 12;

    private final Collection<? extends PostedConnection<?>> connections;
    private final TrafficReports reports;
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean stop;

    /**
     * Creates it without threads.
     *
     * @param connections none is added once threads have started
     */
    ProgressThreads(int rank, Collection<? extends PostedConnection<?>> connections) {
        this.connections = connections;
        this.reports = new TrafficReports(
                rank, () -> connections.stream().map(PostedConnection::traffic).toList());
    }

    /** Starts a thread for each pause. */
    void start(Bootstrap bootstrap, List<PollPause> pauses) {
        PeerWatch peers = new PeerWatch(
                bootstrap,
                connections.stream().collect(Collectors.toMap(one -> one.peer().index(), one -> one::peerGone)));
        for (PollPause pause : pauses) {
            boolean first = threads.isEmpty();
            Thread thread = new Thread(() -> run(pause, first, peers), pause.name());
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
    }

    private void run(PollPause pause, boolean first, PeerWatch peers) {
        List<Background> background = connections.stream().map(Background::new).toList();
        while (!stop) {
            boolean moved = false;
            for (Background one : background) {
                moved |= one.poll();
            }
            if (first) {
                peers.poll();
                reports.tick();
                logWarnings();
            }
            pause.pause(moved);
        }
    }

    /** Polls of one connection by a background thread, which leaves it alone while other threads poll it. For one thread. */
    static final class Background {
        private final PostedConnection<?> connection;
        private long seen;

        Background(PostedConnection<?> connection) {
            this.connection = connection;
        }

        /** Makes progress, unless another thread has made some since the last call; true if anything happened. */
        boolean poll() {
            long now = connection.passes();
            if (now != seen) {
                seen = now;
                return false;
            }
            boolean moved = connection.tryProgress();
            seen = connection.passes();
            return moved;
        }
    }

    private void logWarnings() {
        for (PostedConnection<?> one : connections) {
            for (Optional<String> text = one.nextWarning(); text.isPresent(); text = one.nextWarning()) {
                LOGGER.log(System.Logger.Level.WARNING, text.get());
            }
        }
    }

    /** Waits for the end of the threads, but not for ever, also where this one is interrupted. */
    void end() {
        stop = true;
        Deadline.in(JOIN).awaitEnd(threads);
        reports.report();
        logWarnings();
    }

    /** Gives back what the threads have used, once they are to end. */
    void release(Runnable resources) {
        release(threads, resources);
    }

    /** What a thread still uses is not freed under it: it stays until the process ends. */
    static void release(List<Thread> threads, Runnable resources) {
        Deadline.in(LAST_PASS).awaitEnd(threads);
        List<Thread> running = threads.stream().filter(Thread::isAlive).toList();
        if (running.isEmpty()) {
            resources.run();
            return;
        }
        LOGGER.log(
                System.Logger.Level.WARNING,
                "NICs and registered memory stay open, because these threads did not end within {0} s of closing; see the driver''s messages"
                        + " (dmesg) and their stack traces: {1}",
                JOIN.toSeconds(),
                running.stream()
                        .map(thread -> thread.getName() + " in "
                                + Arrays.stream(thread.getStackTrace())
                                        .limit(FRAMES)
                                        .map(StackTraceElement::toString)
                                        .collect(Collectors.joining(", ")))
                        .collect(Collectors.joining("; ")));
    }
}
