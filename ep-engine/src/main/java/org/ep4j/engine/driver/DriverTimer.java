package org.ep4j.engine.driver;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.engine.gpu.GpuTimer;

/** Two events with times. */
final class DriverTimer implements GpuTimer {
    private final DriverContext context;
    private final long from;
    private final long to;
    private final AtomicBoolean closed = new AtomicBoolean();

    DriverTimer(DriverContext context) {
        this.context = context;
        from = event();
        to = event();
    }

    private long event() {
        long[] made = new long[1];
        context.call("making an event", () -> context.driver().createEvent(made, true));
        return made[0];
    }

    @Override
    public void start(long stream) {
        context.call("recording an event", () -> context.driver().record(from, stream));
    }

    @Override
    public void stop(long stream) {
        context.call("recording an event", () -> context.driver().record(to, stream));
    }

    @Override
    public long elapsedNanos() {
        float[] milliseconds = new float[1];
        context.call("the work that is timed", () -> context.driver().synchronizeEvent(to));
        context.call("time between two events", () -> context.driver().elapsed(milliseconds, from, to));
        return Math.round(milliseconds[0] * 1e6);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            context.call("destroying an event", () -> context.driver().destroyEvent(from));
            context.call("destroying an event", () -> context.driver().destroyEvent(to));
        }
    }
}
