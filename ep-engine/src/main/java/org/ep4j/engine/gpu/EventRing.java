package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.util.ArrayDeque;
import java.util.Deque;
import org.ep4j.gpu.driver.EngineEvent;
import org.ep4j.gpu.driver.EngineGpu;
import org.jspecify.annotations.Nullable;

/**
 * Events of the device for the operations of one buffer, which end in the order in which they are queued. Making and
 * destroying one costs as much as a launch, so they are used again; one look at the device tells of many operations at once.
 * Used under the lock of {@link Operations}.
 */
final class EventRing {
    /** So many operations share one look. */
    static final int LOOK_EVERY = 32;

    private final EngineGpu device;
    private final Cleaner cleaner;
    private final Deque<Lent> lent = new ArrayDeque<>();
    private final Deque<EngineEvent> free = new ArrayDeque<>();
    private int lookAt = 2 * LOOK_EVERY;
    private @Nullable EngineEvent passed;

    private record Lent(OperationEvent event, EngineEvent marker) {}

    /** @param cleaner destroys events that callers were given the handles of */
    EventRing(EngineGpu device, Cleaner cleaner) {
        this.device = device;
        this.cleaner = cleaner;
    }

    /**
     * Records the end of what is queued on {@code stream}.
     *
     * @return the newest operation that was found to be done by the way, or 0
     */
    long record(OperationEvent event, long stream, long first, long last) {
        long done = free.isEmpty() && lent.size() >= lookAt ? look() : 0;
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

    /** Records the end of an operation in a graph with an event that is for nothing else. */
    void recordOnce(OperationEvent event, long stream, long number) {
        EngineEvent marker = device.createUntimedEvent();
        cleaner.register(event, marker::close);
        marker.record(stream);
        event.queued(marker, number, number);
    }

    private long look() {
        Lent newest = lent.stream().skip(LOOK_EVERY - 1L).findFirst().orElseThrow();
        if (!newest.marker().hasPassed()) {
            // The device is far behind; there is no hurry to look again.
            lookAt = lent.size() + LOOK_EVERY;
            return 0;
        }
        lookAt = 2 * LOOK_EVERY;
        for (int i = 0; i < LOOK_EVERY; i++) {
            retire(lent.remove());
        }
        return newest.event().last();
    }

    private void retire(Lent one) {
        one.event().retire(one.marker(), this, cleaner);
    }

    /** A marker whose operation is done, and whose handle nobody has. */
    void giveBack(EngineEvent marker) {
        free.push(marker);
    }

    /** The handle of an event that has always come, for operations whose own is used by others now. */
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

    /** All operations are done. */
    void close() {
        lent.forEach(this::retire);
        lent.clear();
        free.forEach(EngineEvent::close);
        free.clear();
    }
}
