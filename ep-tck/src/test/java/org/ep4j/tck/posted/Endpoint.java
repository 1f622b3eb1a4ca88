package org.ep4j.tck.posted;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.HostMemory;

/** The memory of one rank for one buffer, which the others reach until it is closed. */
final class Endpoint {
    private static final Map<Long, Endpoint> OPEN = new ConcurrentHashMap<>();
    private static final AtomicLong KEYS = new AtomicLong();

    private final long key = KEYS.incrementAndGet();
    private final int rank;
    private final DeviceMemory memory;
    private final HostMemory access;
    private final Optional<EmulatedNic> nic;
    private final AtomicLongArray counters;
    private final Runnable free;
    private int users;
    private boolean closed;

    /**
     * Opens an endpoint.
     *
     * @param users number of ranks that open it
     * @param free run when all users have closed it
     */
    Endpoint(int rank, int ranks, int users, DeviceMemory memory, Runnable free) {
        this.free = free;
        this.users = users;
        this.rank = rank;
        this.memory = memory;
        this.access = HostMemory.of(memory);
        this.nic = memory.device().equals(Device.HOST) ? Optional.empty() : Optional.of(new EmulatedNic());
        this.counters = new AtomicLongArray(ranks * HostPosted.COUNTERS);
        OPEN.put(key, this);
    }

    static Endpoint of(long key) {
        Endpoint endpoint = OPEN.get(key);
        if (endpoint == null) {
            throw new IllegalStateException("no endpoint " + key);
        }
        return endpoint;
    }

    long key() {
        return key;
    }

    int rank() {
        return rank;
    }

    DeviceMemory memory() {
        return memory;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** Receives a write, which is dropped after the endpoint was closed. */
    synchronized void receive(long target, Endpoint source, long from, long bytes) {
        if (!closed) {
            nic.ifPresentOrElse(
                    emulated -> emulated.write(memory.slice(target, bytes), source.memory.slice(from, bytes)),
                    () -> access.copy(target, source.access, from, bytes));
        }
    }

    synchronized void count(int source, int counter, long value) {
        long before = counters.getAndSet(source * HostPosted.COUNTERS + counter, value);
        if (before > value) {
            throw new IllegalStateException(
                    "counter " + counter + " of rank " + source + " went from " + before + " to " + value);
        }
    }

    long seen(int source, int counter) {
        return counters.get(source * HostPosted.COUNTERS + counter);
    }

    /** Releases the mapping of one rank. */
    void release() {
        synchronized (this) {
            users--;
            if (users > 0) {
                return;
            }
        }
        free.run();
    }

    synchronized void close() {
        closed = true;
        OPEN.remove(key);
    }
}
