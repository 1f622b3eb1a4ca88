package org.ep4j.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.LinkTraffic;
import org.ep4j.spi.TrafficSource;

/**
 * The backends of a group. They stay open for as long as the group is, or memory that they mapped can still be looked at
 * through a view that a program holds.
 */
final class OpenBackends {
    private final Map<String, EpBackend> backends;
    private int users = 1;

    OpenBackends(Map<String, EpBackend> backends) {
        this.backends = new TreeMap<>(backends);
    }

    Map<String, EpBackend> byId() {
        return backends;
    }

    /** What those that count it have sent. */
    Map<String, List<LinkTraffic>> traffic() {
        Map<String, List<LinkTraffic>> all = new TreeMap<>();
        backends.forEach((id, backend) -> {
            if (backend instanceof TrafficSource source) {
                all.put(id, source.traffic());
            }
        });
        return all;
    }

    /** One more user. */
    synchronized void retain() {
        users++;
    }

    /** One user less; the last one closes them. */
    void release() {
        synchronized (this) {
            users--;
            if (users > 0) {
                return;
            }
        }
        List<Runnable> steps = new ArrayList<>();
        backends.values().forEach(backend -> steps.add(backend::close));
        Group.closeAll(steps);
    }
}
