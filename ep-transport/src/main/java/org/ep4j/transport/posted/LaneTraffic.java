package org.ep4j.transport.posted;

import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.EpTraffic;

/** What one lane of a connection has carried. Written by the thread that has the lock of the connection, read by any. */
public final class LaneTraffic {
    private final int index;
    private final String ports;
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong writes = new AtomicLong();
    private final AtomicLong signals = new AtomicLong();
    private final AtomicLong replays = new AtomicLong();

    /**
     * Creates it for a lane that has carried nothing.
     *
     * @param ports both ends, for messages
     */
    public LaneTraffic(int index, String ports) {
        this.index = index;
        this.ports = ports;
    }

    /** Counts a write. */
    public void write(long length) {
        add(writes, 1);
        add(bytes, length);
    }

    /** Counts an update of a counter. */
    public void signal() {
        add(signals, 1);
    }

    /** Counts a work request that was posted before, on another lane. */
    public void replay() {
        add(replays, 1);
    }

    /** There is one writer at a time, so this needs no atomic operation of the processor. */
    private static void add(AtomicLong to, long amount) {
        to.setRelease(to.getPlain() + amount);
    }

    /** Returns the amounts so far. */
    public EpTraffic.Lane read(boolean alive) {
        return EpTraffic.Lane.builder(index, ports)
                .alive(alive)
                .bytes(bytes.get())
                .writes(writes.get())
                .signals(signals.get())
                .replays(replays.get())
                .build();
    }
}
