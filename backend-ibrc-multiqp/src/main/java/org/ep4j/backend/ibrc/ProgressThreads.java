package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.engine.memory.NativeRecord;
import org.ep4j.engine.memory.Resources;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;
import org.ep4j.spi.OpenContext;

/**
 * One thread for each device, which waits for its events and sees to links that nobody calls: completions, failovers,
 * immediates, peers that are gone. The first one also reports traffic.
 */
final class ProgressThreads implements AutoCloseable {
    private static final System.Logger LOGGER = System.getLogger(ProgressThreads.class.getName());

    /** How long a thread may take to see that it is to end, and a little. */
    private static final long JOIN_NANOS = 2_000_000_000L;

    /**
     * Between looks at links, where the NIC counts: the first while something happens, doubled up to the second while nothing
     * does. Events end a pause at once, and whoever waits for a link sees to it himself, also where this rank counts
     * immediates: a thread that looks often only takes processors from others.
     */
    private static final int BUSY_MILLIS = 1;

    private static final int IDLE_MILLIS = 8;

    private final Bootstrap bootstrap;
    private final OpenContext context;
    private final Ports ports;
    private final List<Link> links;
    private final TrafficReports reports;
    private final List<Thread> threads = new ArrayList<>();
    private final Resources resources;
    private volatile boolean stop;

    /**
     * For the links of a rank.
     *
     * @param resources that the threads use; a thread that runs on holds them
     */
    ProgressThreads(OpenContext context, Ports ports, List<Link> links, Resources resources) {
        this.resources = resources;
        this.bootstrap = context.bootstrap();
        this.context = context;
        this.ports = ports;
        this.links = List.copyOf(links);
        this.reports = new TrafficReports(context.rank(), this.links);
    }

    void start() {
        for (NicDevice device : ports.devices()) {
            boolean first = threads.isEmpty();
            Thread thread = new Thread(() -> run(device, first), "ep-ibrc-" + context.rank() + "-" + device.name());
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
    }

    private void run(NicDevice device, boolean first) {
        NativeRecord event = new NativeRecord(8);
        long states = -1;
        int millis = BUSY_MILLIS;
        while (!stop) {
            int events = Verbs.nextEvent(device.context(), millis, event.address());
            if (events == 1) {
                take(device, event.get(0), event.get(1));
            }
            boolean moved = false;
            for (Link link : links) {
                moved |= link.tryProgress();
            }
            millis = moved || events != 0 ? BUSY_MILLIS : Math.min(IDLE_MILLIS, 2 * millis);
            if (first) {
                long now = bootstrap.stateChanges();
                if (now != states) {
                    states = now;
                    lookForLosses();
                }
                reports.tick();
                tellRemarks();
            }
            // A device that is gone says so at once, again and again.
            if (events < 0) {
                LockSupport.parkNanos(BUSY_MILLIS * 1_000_000L);
            }
        }
    }

    private void take(NicDevice device, int type, int number) {
        boolean all = type == Verbs.EVENT_DEVICE_FATAL;
        if (!all && type != Verbs.EVENT_PORT_ERROR) {
            LOGGER.log(
                    type <= Verbs.EVENT_LAST_OF_QUEUES ? System.Logger.Level.WARNING : System.Logger.Level.DEBUG,
                    "{0}: event {1} ({2})",
                    device.name(),
                    type,
                    VerbsLibrary.event(type));
            return;
        }
        for (int i = 0; i < ports.list().size(); i++) {
            LocalPort port = ports.list().get(i);
            if (port.device().equals(device) && (all || port.number() == number)) {
                String why = "event " + type + " (" + VerbsLibrary.event(type) + ") of port "
                        + port.record().name();
                int index = i;
                links.forEach(link -> link.portDown(index, why));
            }
        }
    }

    private void tellRemarks() {
        for (Link link : links) {
            String remark = link.remark();
            while (remark != null) {
                LOGGER.log(System.Logger.Level.WARNING, remark);
                remark = link.remark();
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

    /**
     * Waits for the end of threads, but not for ever, also where this one is interrupted: the devices that they look at are
     * closed next.
     */
    static void join(List<Thread> threads) {
        boolean interrupted = false;
        for (Thread thread : threads) {
            long end = System.nanoTime() + JOIN_NANOS;
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
    }

    @Override
    public void close() {
        stop = true;
        join(threads);
        reports.report();
        tellRemarks();
    }

    /** Gives back what threads have looked at, once closed. */
    void release() {
        release(threads, resources);
    }

    /** What a thread still uses is not freed under it: it stays until the process ends. */
    static void release(List<Thread> threads, Resources resources) {
        List<String> running =
                threads.stream().filter(Thread::isAlive).map(Thread::getName).toList();
        if (running.isEmpty()) {
            resources.close();
        } else {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "devices, queue pairs and registered memory stay open, since {0} did not end within {1} s of closing;"
                            + " see what it does (jstack), and the driver''s messages (dmesg)",
                    running,
                    JOIN_NANOS / 1_000_000_000);
        }
    }
}
