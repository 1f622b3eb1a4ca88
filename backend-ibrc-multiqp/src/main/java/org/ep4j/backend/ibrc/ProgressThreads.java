package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.ep4j.spi.OpenContext;
import org.ep4j.transport.PeerWatch;
import org.ep4j.transport.ThreadEnds;
import org.ep4j.transport.TrafficReports;
import org.ep4j.transport.memory.NativeRecord;
import org.ep4j.transport.memory.Resources;

/**
 * One thread for each device, which waits for its events and sees to links that nobody calls: completions, failovers,
 * immediates, peers that are gone. The first one also reports traffic.
 */
final class ProgressThreads implements AutoCloseable {
    private static final System.Logger LOGGER = System.getLogger(ProgressThreads.class.getName());

    /** How long a thread may take to see that it is to end, and a little. */
    private static final Duration JOIN = Duration.ofSeconds(2);

    /**
     * Between looks at links: halved down to the first while something happens that nobody else sees to, doubled up to the
     * second while nothing does. Events end a pause at once, and whoever waits for a link sees to it himself: a thread that
     * wakes often only takes processors from others, and what these have in their caches.
     */
    private static final int BUSY_MILLIS = 1;

    private static final int IDLE_MILLIS = 32;

    private final OpenContext context;
    private final Ports ports;
    private final List<Link> links;
    private final PeerWatch peers;
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
        this.context = context;
        this.ports = ports;
        this.links = List.copyOf(links);
        this.peers = new PeerWatch(
                context.bootstrap(),
                links.stream().collect(Collectors.toMap(link -> link.peer().index(), link -> link::peerGone)));
        this.reports = new TrafficReports(
                context.rank(), () -> this.links.stream().map(Link::traffic).toList());
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
        List<LinkPoller.Background> pollers =
                links.stream().map(LinkPoller.Background::new).toList();
        NativeRecord event = new NativeRecord(8);
        int millis = BUSY_MILLIS;
        while (!stop) {
            int events = Verbs.nextEvent(device.context(), millis, event.address());
            if (events == 1) {
                take(device, event.get(0), event.get(1));
            }
            boolean moved = false;
            for (LinkPoller.Background poller : pollers) {
                moved |= poller.poll();
            }
            millis = moved || events != 0 ? Math.max(BUSY_MILLIS, millis / 2) : Math.min(IDLE_MILLIS, 2 * millis);
            if (first) {
                peers.look();
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

    @Override
    public void close() {
        stop = true;
        ThreadEnds.await(threads, JOIN);
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
                    "devices, queue pairs and registered memory stay open, because threads {0} did not end within {1} s of closing;"
                            + " see what these threads do (jstack), and the driver''s messages (dmesg)",
                    running,
                    JOIN.toSeconds());
        }
    }
}
