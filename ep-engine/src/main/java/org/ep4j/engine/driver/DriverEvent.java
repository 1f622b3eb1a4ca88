package org.ep4j.engine.driver;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.gpu.GpuMarker;

/**
 * An event. One that a graph recorded is always done: whoever launches the graph waits for that. One that was never
 * recorded has passed.
 */
final class DriverEvent implements GpuMarker {
    /** Short waits stay on the processor; longer ones give it up between looks. */
    private static final long SPIN_NANOS = 50_000;

    private static final long PAUSE_NANOS = 20_000;

    private final DriverContext context;
    private final long handle;
    private final Destroyer destroyer;

    /** A new event, until it is closed. */
    DriverEvent(DriverContext context) {
        this.context = context;
        long[] event = new long[1];
        context.call("making an event", () -> context.driver().createEvent(event, false));
        handle = event[0];
        destroyer = new Destroyer(context, handle, new AtomicBoolean());
    }

    /** A new event that is recorded on {@code stream}, and destroyed when it is no longer reachable. */
    static DriverEvent record(DriverContext context, long stream) {
        DriverEvent made = new DriverEvent(context);
        Destroyer.CLEANER.register(made, made.destroyer);
        made.record(stream);
        return made;
    }

    @Override
    public void record(long stream) {
        int result = context.isCurrent()
                ? context.driver().record(handle, stream)
                : context.result(() -> context.driver().record(handle, stream));
        if (result != 0) {
            context.errors().check(result, "recording an event on stream 0x" + Long.toHexString(stream));
        }
    }

    private int query() {
        return context.isCurrent()
                ? context.driver().query(handle)
                : context.result(() -> context.driver().query(handle));
    }

    @Override
    public boolean isDone() {
        return query() != DriverErrors.NOT_READY;
    }

    @Override
    public boolean hasPassed() {
        int result = query();
        // Of an operation in a recorded graph: when that runs is known to those only who launch it.
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
        while (!hasPassed()) {
            long waited = System.nanoTime() - start;
            if (waited > limit) {
                throw new EpTimeoutException(
                        "event not done after " + timeout
                                + "; pass a longer deadline, or check the work that was queued before the event",
                        EpFailure.builder("event", -1).expected(1).build(),
                        EpException.Recourse.FIX_CALL);
            }
            if (waited < SPIN_NANOS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    @Override
    public long nativeHandle() {
        return handle;
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
                context.ifOpen(() -> context.driver().destroyEvent(event));
            }
        }
    }
}
