package org.ep4j.engine.cuda;

import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpEvent;
import org.ep4j.EpTimeoutException;

/**
 * A {@code CUevent} that was recorded on a stream; destroyed when it is no longer reachable. One that a graph recorded is
 * always done: whoever launches the graph waits for that.
 */
final class CudaEvent implements EpEvent {
    /** No timing: such events are cheaper to record and to wait for ({@code CU_EVENT_DISABLE_TIMING}). */
    private static final int DISABLE_TIMING = 2;

    /** Short waits stay on the processor; longer ones give it up between looks. */
    private static final long SPIN_NANOS = 50_000;

    private static final long PAUSE_NANOS = 20_000;

    private final CudaContext context;
    private final long handle;

    private CudaEvent(CudaContext context, long handle) {
        this.context = context;
        this.handle = handle;
    }

    static CudaEvent record(CudaContext context, long stream) {
        CudaDriver driver = context.driver();
        long[] event = new long[1];
        context.call("cuEventCreate", () -> driver.cuEventCreate(event, DISABLE_TIMING));
        CudaEvent made = new CudaEvent(context, event[0]);
        Destroyer.CLEANER.register(made, new Destroyer(context, event[0]));
        context.call(
                () -> "cuEventRecord on stream 0x" + Long.toHexString(stream),
                () -> driver.cuEventRecord(event[0], stream));
        return made;
    }

    @Override
    public boolean isDone() {
        int result = context.result(() -> context.driver().cuEventQuery(handle));
        return result != CudaErrors.NOT_READY;
    }

    @Override
    public void await(Duration deadline) {
        long start = System.nanoTime();
        long limit = deadline.compareTo(Duration.ofDays(10_000)) > 0 ? Long.MAX_VALUE : deadline.toNanos();
        while (true) {
            int result = context.result(() -> context.driver().cuEventQuery(handle));
            if (result != CudaErrors.NOT_READY) {
                // Of an operation in a recorded graph: when that runs is known to those only who launch it.
                if (result != CudaErrors.CAPTURED_EVENT && result != CudaErrors.INVALID_VALUE) {
                    context.errors().check(result, "the work before an event");
                }
                return;
            }
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

    /** Destroys the event; the driver keeps it until the work that it waits for is done. */
    private record Destroyer(CudaContext context, long event) implements Runnable {
        private static final Cleaner CLEANER = Cleaner.create();

        @Override
        public void run() {
            context.ifOpen(() -> context.driver().cuEventDestroy_v2(event));
        }
    }
}
