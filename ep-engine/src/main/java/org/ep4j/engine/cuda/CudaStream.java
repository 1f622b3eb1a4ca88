package org.ep4j.engine.cuda;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.engine.gpu.GpuStream;

/** A {@code CUstream} that does not wait for the legacy stream. */
final class CudaStream implements GpuStream {
    /** {@code CU_STREAM_NON_BLOCKING}. */
    private static final int NON_BLOCKING = 1;

    private final CudaContext context;
    private final long handle;
    private final AtomicBoolean closed = new AtomicBoolean();

    CudaStream(CudaContext context) {
        this.context = context;
        long[] stream = new long[1];
        context.call("cuStreamCreate", () -> context.driver().cuStreamCreate(stream, NON_BLOCKING));
        handle = stream[0];
    }

    @Override
    public long handle() {
        return handle;
    }

    @Override
    public void synchronize() {
        context.call("the work on a stream", () -> context.driver().cuStreamSynchronize(handle));
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            context.call("cuStreamDestroy", () -> context.driver().cuStreamDestroy_v2(handle));
        }
    }
}
