package org.ep4j.gpu.driver;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.gpu.GpuEvent;
import org.ep4j.gpu.GpuStream;

/**
 * An event of a driver. An event that a graph recorded counts as done: callers wait for the launch of the graph. So does one that was never
 * recorded.
 */
final class DriverEvent implements GpuEvent, EngineGpu.EngineEvent {
    /**
     * Waits up to this long stay on the processor, as the driver's own do. Longer ones sleep between polls, so they may end
     * 0.2 ms late.
     */
    private static final long SPIN_NANOS = 2_000_000;

    private static final long PAUSE_NANOS = 20_000;

    private final DriverDevice device;
    private final DriverContext context;
    private final long handle;
    private final Destroyer destroyer;

    DriverEvent(DriverDevice device, boolean timed) {
        this.device = device;
        this.context = device.context();
        handle = context.read(
                () -> "making an event",
                out -> context.driver().eventCreate(out, timed ? 0 : GpuDriver.DISABLE_TIMING));
        destroyer = new Destroyer(context, handle, new AtomicBoolean());
    }

    /** Creates an event and records it on {@code stream}; destroyed when it is no longer reachable. */
    static DriverEvent record(DriverDevice device, long stream) {
        DriverEvent made = new DriverEvent(device, false);
        Destroyer.CLEANER.register(made, made.destroyer);
        made.record(stream);
        return made;
    }

    @Override
    public void record(GpuStream stream) {
        checkOpen();
        record(DriverStream.handle(stream, device.id()));
    }

    @Override
    public void record(long stream) {
        int result = context.isCurrent()
                ? context.driver().eventRecord(handle, stream)
                : context.result(() -> context.driver().eventRecord(handle, stream));
        if (result != 0) {
            context.errors().check(result, "recording an event on stream 0x" + Long.toHexString(stream));
        }
    }

    private int query() {
        checkOpen();
        return context.isCurrent()
                ? context.driver().eventQuery(handle)
                : context.result(() -> context.driver().eventQuery(handle));
    }

    @Override
    public boolean isDone() {
        return query() != DriverErrors.NOT_READY;
    }

    @Override
    public boolean hasPassed() {
        int result = query();
        // An event of a recorded graph has no end of its own: launches have.
        if (result != DriverErrors.NOT_READY
                && result != DriverErrors.CAPTURED_EVENT
                && result != DriverErrors.INVALID_VALUE) {
            context.errors().check(result, "the work before an event");
        }
        return result != DriverErrors.NOT_READY;
    }

    @Override
    public void await(Duration timeout) {
        long start = System.nanoTime();
        long limit = timeout.compareTo(Duration.ofDays(10_000)) > 0 ? Long.MAX_VALUE : timeout.toNanos();
        long spin = Math.min(limit, SPIN_NANOS);
        // The polls while spinning share one switch of context. Naps are outside: a virtual thread may go on in another
        // carrier.
        if (hasPassed() || device.inside(() -> passesWithin(start, spin))) {
            return;
        }
        while (!hasPassed()) {
            if (System.nanoTime() - start > limit) {
                throw new EpTimeoutException(
                        "event not done after " + timeout
                                + "; pass a longer deadline, or check the work that was queued before the event",
                        EpFailure.builder("event", -1).expected(1).build(),
                        EpException.Recourse.FIX_CALL);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private boolean passesWithin(long start, long nanos) {
        while (!hasPassed()) {
            if (System.nanoTime() - start > nanos) {
                return false;
            }
            Thread.onSpinWait();
        }
        return true;
    }

    @Override
    public long nanosSince(GpuEvent start) {
        if (!(start instanceof DriverEvent from) || !from.device.id().equals(device.id())) {
            throw new EpArgumentException(
                    "start", start, "an event of " + device.id(), "create both events by createEvent() of one device");
        }
        if (!hasPassed() || !from.hasPassed()) {
            throw new EpStateException("the time between two events is known when both are done; await them first");
        }
        float[] milliseconds = new float[1];
        context.call(
                "time between two events", () -> context.driver().eventElapsedTime(milliseconds, from.handle, handle));
        return Math.round(milliseconds[0] * 1e6);
    }

    @Override
    public long nativeHandle() {
        checkOpen();
        return handle;
    }

    private void checkOpen() {
        if (destroyer.done().get()) {
            throw new EpStateException(this + " is closed; keep it open until its last use");
        }
    }

    @Override
    public String toString() {
        return "event 0x" + Long.toHexString(handle) + " of " + device.id();
    }

    @Override
    public void close() {
        destroyer.run();
    }

    /** Destroys the event once; the driver keeps it until the work that it waits for is done. */
    private record Destroyer(DriverContext context, long event, AtomicBoolean done) implements Runnable {
        private static final Cleaner CLEANER = Cleaner.create();

        @Override
        public void run() {
            if (done.compareAndSet(false, true)) {
                context.ifOpen(() -> context.driver().eventDestroy(event));
            }
        }
    }
}
