package org.ep4j.backend.efa;

import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.ep4j.spi.OpenContext;

/**
 * Sees to links that nobody calls: takes in what comes, looks for peers that are gone, and reports traffic. Most providers
 * move bytes only while somebody polls.
 */
final class ProgressThread implements AutoCloseable {
    private static final System.Logger LOGGER = System.getLogger(ProgressThread.class.getName());

    private static final long JOIN_NANOS = 2_000_000_000L;

    /**
     * Between looks: the first when nothing has happened for a while, doubled up to the second while nothing does. Whoever
     * waits for a link sees to it himself, so a thread that looks often only takes processors from others.
     */
    private static final long BUSY_NANOS = 20_000;

    private static final long IDLE_NANOS = 1_000_000;

    /** As long after something has happened it looks all the time: sleeping and waking take longer than most writes. */
    private static final long WAKE_NANOS = 100_000;

    private final Bootstrap bootstrap;
    private final List<Link> links;
    private final TrafficReports reports;
    private final Thread thread;
    private volatile boolean stop;

    ProgressThread(OpenContext context, List<Link> links) {
        this.bootstrap = context.bootstrap();
        this.links = List.copyOf(links);
        this.reports = new TrafficReports(context.rank(), this.links);
        this.thread = new Thread(this::run, "ep-efa-" + context.rank());
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    // Others may have the processor: whom bytes are moved for may be waiting for it.
    @SuppressWarnings("ThreadPriorityCheck")
    private void run() {
        long states = -1;
        long nanos = BUSY_NANOS;
        long asleep = System.nanoTime();
        while (!stop) {
            boolean moved = false;
            for (Link link : links) {
                moved |= link.attend();
            }
            long now = bootstrap.stateChanges();
            if (now != states) {
                states = now;
                lookForLosses();
            }
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

    private void lookForLosses() {
        for (Link link : links) {
            MemberState state = bootstrap.state(link.peer().index());
            if (state != MemberState.ALIVE) {
                link.peerGone(state == MemberState.LEFT ? "it has left the group" : "its process is lost");
            }
        }
    }

    /** Waits for the end of the thread, but not for ever, also where this one is interrupted. */
    @Override
    public void close() {
        stop = true;
        boolean interrupted = false;
        long end = System.nanoTime() + JOIN_NANOS;
        while (thread.isAlive() && end - System.nanoTime() > 0) {
            try {
                thread.join(1 + (end - System.nanoTime()) / 1_000_000);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (thread.isAlive()) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "{0} did not end within {1} s of closing; see what it does (jstack)",
                    thread.getName(),
                    JOIN_NANOS / 1_000_000_000);
        }
        reports.report();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
