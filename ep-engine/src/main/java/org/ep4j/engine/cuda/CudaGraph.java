package org.ep4j.engine.cuda;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.engine.gpu.Recording;

/** A {@code CUgraphExec}. */
final class CudaGraph implements Recording.Graph {
    /** {@code CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}: what other threads of the process do is their own affair. */
    private static final int THREAD_LOCAL = 1;

    private final CudaContext context;
    private final long executable;
    private final AtomicBoolean closed = new AtomicBoolean();

    private CudaGraph(CudaContext context, long executable) {
        this.context = context;
        this.executable = executable;
    }

    static CudaGraph capture(CudaContext context, long stream, Runnable work) {
        CudaDriver driver = context.driver();
        context.call(
                "cuStreamBeginCapture of stream 0x" + Long.toHexString(stream),
                () -> driver.cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
        long[] graph = new long[1];
        try {
            work.run();
        } catch (RuntimeException | Error e) {
            // The stream must not stay as it is; what was recorded until here is of no use.
            if (context.result(() -> driver.cuStreamEndCapture(stream, graph)) == 0) {
                context.result(() -> driver.cuGraphDestroy(graph[0]));
            }
            throw e;
        }
        context.call("the recording of a graph", () -> driver.cuStreamEndCapture(stream, graph));
        long[] executable = new long[1];
        try {
            context.call("cuGraphInstantiate", () -> driver.cuGraphInstantiateWithFlags(executable, graph[0], 0));
        } finally {
            context.result(() -> driver.cuGraphDestroy(graph[0]));
        }
        return new CudaGraph(context, executable[0]);
    }

    @Override
    public void launch(long stream) {
        context.call("cuGraphLaunch", () -> context.driver().cuGraphLaunch(executable, stream));
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            context.call("cuGraphExecDestroy", () -> context.driver().cuGraphExecDestroy(executable));
        }
    }
}
