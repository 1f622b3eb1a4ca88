package org.ep4j.backend.ibrc;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.transport.memory.NativeRecord;
import org.ep4j.transport.posted.PollPause;

/** Waits for events of a device, and passes on which of its ports have failed. */
final class EventPause implements PollPause {
    private static final System.Logger LOGGER = System.getLogger(EventPause.class.getName());

    /**
     * Shortest and longest wait: halved while this thread finds work that no call has done, doubled while it finds none. Events end
     * a wait at once, and a call that waits polls itself: a thread that wakes often only takes CPU time from others, and what
     * these have in their caches.
     */
    private static final int BUSY_MILLIS = 1;

    private static final int IDLE_MILLIS = 32;

    private final String name;
    private final NicDevice device;
    private final List<LocalPort> ports;
    private final List<Link> links;
    private final NativeRecord event = new NativeRecord(8);
    private int millis = BUSY_MILLIS;
    private int events;

    /**
     * For one device.
     *
     * @param ports of all devices, by index
     */
    EventPause(String name, NicDevice device, List<LocalPort> ports, Collection<Link> links) {
        this.name = name;
        this.device = device;
        this.ports = ports;
        this.links = List.copyOf(links);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public void pause(boolean moved) {
        millis = moved || events != 0 ? Math.max(BUSY_MILLIS, millis / 2) : Math.min(IDLE_MILLIS, 2 * millis);
        events = Verbs.nextEvent(device.context(), millis, event.address());
        if (events == 1) {
            take(event.get(0), event.get(1));
        } else if (events < 0) {
            // A device that is gone says so at once, again and again.
            LockSupport.parkNanos(BUSY_MILLIS * 1_000_000L);
        }
    }

    private void take(int type, int number) {
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
        for (int i = 0; i < ports.size(); i++) {
            LocalPort port = ports.get(i);
            if (port.device().equals(device) && (all || port.number() == number)) {
                String why = "event " + type + " (" + VerbsLibrary.event(type) + ") of port "
                        + port.record().name();
                int index = i;
                links.forEach(link -> link.portDown(index, why));
            }
        }
    }
}
