package org.ep4j.gpu.driver;

import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Who uses an allocation inside this process. Ranks that are threads of one process reach each other's memory by its address,
 * and tell each other nothing but bytes; the driver counts users across processes, not inside one. So that a rank can close
 * in any order, the last user frees. Addresses are one space for the whole process, hence the one table for all of it.
 */
final class LocalAllocations {
    private static final ConcurrentMap<Long, Entry> USED = new ConcurrentHashMap<>();

    private LocalAllocations() {}

    private record Entry(int users, Runnable free) {}

    /**
     * Registers a new allocation with its first user.
     *
     * @param free called once, by the last user
     * @return ends the use; a second call does nothing
     */
    static Runnable add(long address, Runnable free) {
        USED.put(address, new Entry(1, free));
        return once(address);
    }

    /** One more user, until the result is run; empty when the allocation is no longer there. */
    static Optional<Runnable> retain(long address) {
        Entry found = USED.computeIfPresent(address, (a, entry) -> new Entry(entry.users + 1, entry.free));
        return found == null ? Optional.empty() : Optional.of(once(address));
    }

    private static Runnable once(long address) {
        AtomicBoolean done = new AtomicBoolean();
        return () -> {
            if (done.compareAndSet(false, true)) {
                release(address);
            }
        };
    }

    private static void release(long address) {
        Runnable[] last = new Runnable[1];
        USED.computeIfPresent(address, (a, entry) -> {
            if (entry.users > 1) {
                return new Entry(entry.users - 1, entry.free);
            }
            last[0] = entry.free;
            return null;
        });
        // After the entry is gone: the driver may give the address out again at once.
        if (last[0] != null) {
            last[0].run();
        }
    }
}
