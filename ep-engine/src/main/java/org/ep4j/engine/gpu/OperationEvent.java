package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.time.Duration;
import org.ep4j.EpStateException;
import org.ep4j.gpu.driver.EngineEvent;
import org.ep4j.gpu.driver.EngineGpu;
import org.jspecify.annotations.Nullable;

/**
 * The end of one operation of a buffer, or of a replay of several. The device's event behind it is lent by {@link EventRing}
 * until the operation is known to be done; one whose handle the caller has asked for is not used again before the caller
 * forgets this object.
 */
final class OperationEvent implements EngineGpu.StreamOrdered {
    private final Operations operations;

    /** Null until the operation is queued, and again when it is done and the event is given back. */
    private @Nullable EngineEvent device;

    private long first;
    private long last;
    private boolean isQueued;
    private boolean handedOut;

    OperationEvent(Operations operations) {
        this.operations = operations;
    }

    /**
     * The operation is queued.
     *
     * @param from number of the first operation that ends here
     * @param to number of the last
     */
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

    /** As {@link #isDone}, but throws what made the device fail. */
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

    /** It is done: says so from now on without the device's event, which is to be used again unless someone else has it. */
    synchronized void retire(EngineEvent lent, EventRing ring, Cleaner cleaner) {
        if (handedOut) {
            cleaner.register(this, lent::close);
        } else {
            device = null;
            ring.giveBack(lent);
        }
    }
}
