package org.ep4j.engine.driver;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.engine.gpu.GpuStream;

/** A stream that does not wait for the legacy stream. */
final class DriverStream implements GpuStream {
    private final DriverContext context;
    private final long handle;
    private final AtomicBoolean closed = new AtomicBoolean();

    DriverStream(DriverContext context) {
        this.context = context;
        long[] stream = new long[1];
        context.call("making a stream", () -> context.driver().createStream(stream));
        handle = stream[0];
    }

    @Override
    public long handle() {
        return handle;
    }

    @Override
    public void synchronize() {
        context.call("the work on a stream", () -> context.driver().synchronize(handle));
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            context.call("destroying a stream", () -> context.driver().destroyStream(handle));
        }
    }
}
