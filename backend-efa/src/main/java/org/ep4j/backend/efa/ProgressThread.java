package org.ep4j.backend.efa;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.PeerWatch;
import org.ep4j.transport.ThreadEnds;
import org.ep4j.transport.TrafficReports;

/**
 * Sees to links that nobody calls: takes in what comes, looks for peers that are gone, and reports traffic. Most providers
 * move bytes only while somebody polls.
 */
final class ProgressThread implements AutoCloseable {
    private static final System.Logger LOGGER = System.getLogger(ProgressThread.class.getName());

    private static final Duration JOIN = Duration.ofSeconds(2);

    /**
     * Between looks: the first when nothing has happened for a while, doubled up to the second while nothing does. Whoever
     * waits for a link sees to it himself, so a thread that looks often only takes processors from others.
     */
    private static final long BUSY_NANOS = 20_000;

    private static final long IDLE_NANOS = 1_000_000;

    /** As long after something has happened it looks all the time: sleeping and waking take longer than most writes. */
    private static final long WAKE_NANOS = 100_000;

    /** Of a thread that does not end, so many calls are told. */
    private static final int FRAMES = 12;

    private final List<Link> links;
    private final PeerWatch peers;
    private final TrafficReports reports;
    private final Thread thread;
    private volatile boolean stop;

    ProgressThread(OpenContext context, List<Link> links) {
        this.links = List.copyOf(links);
        this.peers = new PeerWatch(
                context.bootstrap(),
                links.stream().collect(Collectors.toMap(link -> link.peer().index(), link -> link::peerGone)));
        this.reports = new TrafficReports(
                context.rank(), () -> this.links.stream().map(Link::traffic).toList());
        this.thread = new Thread(this::run, "ep-efa-" + context.rank());
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    // Others may have the processor: whom bytes are moved for may be waiting for it.
    @SuppressWarnings("ThreadPriorityCheck")
    private void run() {
        long nanos = BUSY_NANOS;
        long asleep = System.nanoTime();
        while (!stop) {
            boolean moved = false;
            for (Link link : links) {
                moved |= link.attend();
            }
            peers.look();
            reports.tick();
            long time = System.nanoTime();
            if (moved) {
                nanos = BUSY_NANOS;
                asleep = time + WAKE_NANOS;
            } else if (asleep - time > 0) {
                Thread.yield();
            } else {
                LockSupport.parkNanos(nanos);
                nanos = Math.min(IDLE_NANOS, 2 * nanos);
            }
        }
    }

    /** Waits for the end of the thread, but not for ever, also where this one is interrupted. */
    @Override
    public void close() {
        stop = true;
        if (!ThreadEnds.await(List.of(thread), JOIN).isEmpty()) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "{0} did not end within {1} s of closing; its stack trace: {2}",
                    thread.getName(),
                    JOIN.toSeconds(),
                    Arrays.stream(thread.getStackTrace())
                            .limit(FRAMES)
                            .map(StackTraceElement::toString)
                            .collect(Collectors.joining(", ")));
        }
        reports.report();
    }
}
