package org.ep4j.engine.cuda;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.engine.gpu.GpuTimer;

/** Two {@code CUevent} with times. */
final class CudaTimer implements GpuTimer {
    private final CudaContext context;
    private final long from;
    private final long to;
    private final AtomicBoolean closed = new AtomicBoolean();

    CudaTimer(CudaContext context) {
        this.context = context;
        from = event();
        to = event();
    }

    private long event() {
        long[] made = new long[1];
        context.call("cuEventCreate", () -> context.driver().cuEventCreate(made, 0));
        return made[0];
    }

    @Override
    public void start(long stream) {
        context.call("cuEventRecord", () -> context.driver().cuEventRecord(from, stream));
    }

    @Override
    public void stop(long stream) {
        context.call("cuEventRecord", () -> context.driver().cuEventRecord(to, stream));
    }

    @Override
    public long elapsedNanos() {
        float[] milliseconds = new float[1];
        context.call("the work that is timed", () -> context.driver().cuEventSynchronize(to));
        context.call("cuEventElapsedTime", () -> context.driver().cuEventElapsedTime(milliseconds, from, to));
        return Math.round(milliseconds[0] * 1e6);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            context.call("cuEventDestroy", () -> context.driver().cuEventDestroy_v2(from));
            context.call("cuEventDestroy", () -> context.driver().cuEventDestroy_v2(to));
        }
    }
}
