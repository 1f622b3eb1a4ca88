package org.ep4j.engine.cuda;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpTimeoutException;
import org.ep4j.engine.gpu.GpuMarker;

/**
 * A {@code CUevent}. One that a graph recorded is always done: whoever launches the graph waits for that. One that was never
 * recorded has passed.
 */
final class CudaEvent implements GpuMarker {
    /** No timing: such events are cheaper to record and to wait for ({@code CU_EVENT_DISABLE_TIMING}). */
    private static final int DISABLE_TIMING = 2;

    /** Short waits stay on the processor; longer ones give it up between looks. */
    private static final long SPIN_NANOS = 50_000;

    private static final long PAUSE_NANOS = 20_000;

    private final CudaContext context;
    private final long handle;
    private final Destroyer destroyer;

    /** A new event, until it is closed. */
    CudaEvent(CudaContext context) {
        this.context = context;
        long[] event = new long[1];
        context.call("cuEventCreate", () -> context.driver().cuEventCreate(event, DISABLE_TIMING));
        handle = event[0];
        destroyer = new Destroyer(context, handle, new AtomicBoolean());
    }

    /** A new event that is recorded on {@code stream}, and destroyed when it is no longer reachable. */
    static CudaEvent record(CudaContext context, long stream) {
        CudaEvent made = new CudaEvent(context);
        Destroyer.CLEANER.register(made, made.destroyer);
        made.record(stream);
        return made;
    }

    @Override
    public void record(long stream) {
        int result = context.isCurrent()
                ? context.driver().cuEventRecord(handle, stream)
                : context.result(() -> context.driver().cuEventRecord(handle, stream));
        if (result != 0) {
            context.errors().check(result, "cuEventRecord on stream 0x" + Long.toHexString(stream));
        }
    }

    private int query() {
        return context.isCurrent()
                ? context.driver().cuEventQuery(handle)
                : context.result(() -> context.driver().cuEventQuery(handle));
    }

    @Override
    public boolean isDone() {
        return query() != CudaErrors.NOT_READY;
    }

    @Override
    public boolean hasPassed() {
        int result = query();
        // Of an operation in a recorded graph: when that runs is known to those only who launch it.
        if (result != CudaErrors.NOT_READY
                && result != CudaErrors.CAPTURED_EVENT
                && result != CudaErrors.INVALID_VALUE) {
            context.errors().check(result, "the work before an event");
        }
        return result != CudaErrors.NOT_READY;
    }

    @Override
    public void await(Duration deadline) {
        long start = System.nanoTime();
        long limit = deadline.compareTo(Duration.ofDays(10_000)) > 0 ? Long.MAX_VALUE : deadline.toNanos();
        while (!hasPassed()) {
            long waited = System.nanoTime() - start;
            if (waited > limit) {
                throw new EpTimeoutException(
                        "event not done after " + deadline + "; pass a longer deadline or look at the work behind it",
                        "event",
                        -1,
                        1,
                        0);
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
    private record Destroyer(CudaContext context, long event, AtomicBoolean done) implements Runnable {
        private static final Cleaner CLEANER = Cleaner.create();

        @Override
        public void run() {
            if (done.compareAndSet(false, true)) {
                context.ifOpen(() -> context.driver().cuEventDestroy_v2(event));
            }
        }
    }
}
