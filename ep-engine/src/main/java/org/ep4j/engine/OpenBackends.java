package org.ep4j.engine;

import java.util.Map;
import java.util.TreeMap;
import org.ep4j.spi.EpBackend;

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
        backends.values().forEach(EpBackend::close);
    }
}
