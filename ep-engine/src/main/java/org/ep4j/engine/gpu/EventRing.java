package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import org.ep4j.EpStateException;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.EngineGpu.EngineEvent;
import org.jspecify.annotations.Nullable;

/**
 * Events of the device for the operations of one buffer, which end in the order in which they are queued. Creating and
 * destroying one costs as much as a launch, so they are reused; one query retires many operations.
 * Used under the lock of {@link Operations}.
 */
final class EventRing {
    /** Operations that one query retires. */
    static final int QUERY_EVERY = 32;

    private final EngineGpu device;
    private final Cleaner cleaner;
    private final Deque<Lent> lent = new ArrayDeque<>();
    private final Deque<EngineEvent> free = new ArrayDeque<>();
    private int queryAt = 2 * QUERY_EVERY;
    private @Nullable EngineEvent passed;

    private record Lent(OperationEvent event, EngineEvent marker) {}

    /** @param cleaner destroys events whose handles callers have */
    EventRing(EngineGpu device, Cleaner cleaner) {
        this.device = device;
        this.cleaner = cleaner;
    }

    /** Records the end of what is queued on {@code stream}. Returns the newest operation that a query found to be done, or 0. */
    long record(OperationEvent event, long stream, long first, long last) {
        long done = free.isEmpty() && lent.size() >= queryAt ? query() : 0;
        EngineEvent marker = free.isEmpty() ? device.createUntimedEvent() : free.pop();
        try {
            marker.record(stream);
        } catch (RuntimeException | Error e) {
            free.push(marker);
            throw e;
        }
        event.queued(marker, first, last);
        lent.add(new Lent(event, marker));
        return done;
    }

    /** Records the end of an operation in a graph with an event of its own. */
    void recordOnce(OperationEvent event, long stream, long number) {
        EngineEvent marker = device.createUntimedEvent();
        cleaner.register(event, marker::close);
        marker.record(stream);
        event.queued(marker, number, number);
    }

    private long query() {
        Lent newest = lent.stream().skip(QUERY_EVERY - 1L).findFirst().orElseThrow();
        if (!newest.marker().hasPassed()) {
            // The device is far behind, so the next query can wait.
            queryAt = lent.size() + QUERY_EVERY;
            return 0;
        }
        queryAt = 2 * QUERY_EVERY;
        for (int i = 0; i < QUERY_EVERY; i++) {
            retire(lent.remove());
        }
        return newest.event().last();
    }

    private void retire(Lent one) {
        one.event().retire(one.marker(), this, cleaner);
    }

    /** Takes back a marker whose operation is done, and whose handle no caller has. */
    void giveBack(EngineEvent marker) {
        free.push(marker);
    }

    /** Returns the handle of an event that has passed, for operations whose own event is reused. */
    synchronized long passedHandle() {
        EngineEvent one = passed;
        if (one == null) {
            EngineEvent made = device.createUntimedEvent();
            cleaner.register(this, made::close);
            passed = made;
            one = made;
        }
        return one.nativeHandle();
    }

    /** Closes the events of operations, all of which are done. */
    void close() {
        lent.forEach(this::retire);
        lent.clear();
        free.forEach(EngineEvent::close);
        free.clear();
    }

    /**
     * The end of one operation of a buffer, or of a replay of several. {@link EventRing} lends it an event of the device
     * until the operation is done; an event whose handle the caller has is not reused before this object is unreachable.
     */
    static final class OperationEvent implements EngineGpu.StreamOrdered {
        private final Operations operations;

        /** Null until the operation is queued, and again when it is done and the event is returned. */
        private @Nullable EngineEvent device;

        private long first;
        private long last;
        private boolean isQueued;
        private boolean handedOut;

        /** Number of the first half of the operation, if this is the end of its second half; else 0. */
        private final long firstHalf;

        OperationEvent(Operations operations, long firstHalf) {
            this.operations = operations;
            this.firstHalf = firstHalf;
        }

        /** Number of the first half of the operation, with which this one fails, too; 0 if this is not the end of a second half. */
        long firstHalf() {
            return firstHalf;
        }

        /** Records that the operations {@code from} to {@code to}, which end here, are queued. */
        synchronized void queued(EngineEvent recorded, long from, long to) {
            device = recorded;
            first = from;
            last = to;
            isQueued = true;
        }

        /** Number of the first operation that ends here. */
        synchronized long first() {
            return first;
        }

        /** Number of the last operation that ends here. */
        synchronized long last() {
            return last;
        }

        private @Nullable EngineEvent device() {
            if (!isQueued) {
                throw new EpStateException("the operation was not queued");
            }
            return device;
        }

        @Override
        public synchronized boolean isDone() {
            EngineEvent recorded = device();
            return recorded == null || recorded.isDone();
        }

        /** As {@link #isDone}, but throws if the device failed. */
        synchronized boolean hasPassed() {
            EngineEvent recorded = device();
            return recorded == null || recorded.hasPassed();
        }

        @Override
        public void await(Duration timeout) {
            operations.await(this, timeout);
        }

        @Override
        public synchronized void before(EngineGpu on, long stream) {
            EngineEvent recorded = device();
            if (recorded != null) {
                on.await(stream, recorded);
            }
        }

        @Override
        public synchronized long nativeHandle() {
            EngineEvent recorded = device();
            if (recorded == null) {
                return operations.passedHandle();
            }
            handedOut = true;
            return recorded.nativeHandle();
        }

        @Override
        public synchronized String toString() {
            return first == last || first == 0
                    ? "operation " + first + " of the buffer"
                    : "operations " + first + " to " + last + " of the buffer, replayed by a graph";
        }

        /** Marks it as done, without the device's event, which is reused unless the caller has its handle. */
        synchronized void retire(EngineEvent lent, EventRing ring, Cleaner cleaner) {
            if (handedOut) {
                cleaner.register(this, lent::close);
            } else {
                device = null;
                ring.giveBack(lent);
            }
        }
    }
}
