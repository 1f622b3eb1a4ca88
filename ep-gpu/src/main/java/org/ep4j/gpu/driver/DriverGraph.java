package org.ep4j.gpu.driver;

import java.util.concurrent.atomic.AtomicBoolean;

/** A recorded graph that is ready. */
final class DriverGraph implements GraphRecording.Graph {
    private final DriverContext context;
    private final long executable;
    private final AtomicBoolean closed = new AtomicBoolean();

    private DriverGraph(DriverContext context, long executable) {
        this.context = context;
        this.executable = executable;
    }

    static DriverGraph capture(DriverContext context, long stream, Runnable work) {
        GpuDriver driver = context.driver();
        context.call("beginning to capture stream 0x" + Long.toHexString(stream), () -> driver.beginCapture(stream));
        long[] graph = new long[1];
        try {
            work.run();
        } catch (RuntimeException | Error e) {
            // The stream must not stay as it is; what was recorded until here is of no use.
            if (context.result(() -> driver.endCapture(stream, graph)) == 0) {
                context.result(() -> driver.destroyGraph(graph[0]));
            }
            throw e;
        }
        context.call("the recording of a graph", () -> driver.endCapture(stream, graph));
        long[] executable = new long[1];
        try {
            context.call("making a graph ready", () -> driver.instantiate(executable, graph[0]));
        } finally {
            context.result(() -> driver.destroyGraph(graph[0]));
        }
        return new DriverGraph(context, executable[0]);
    }

    @Override
    public void launch(long stream) {
        context.call("launch of a graph", () -> context.driver().launchGraph(executable, stream));
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            context.call("destroying a graph", () -> context.driver().destroyExecutable(executable));
        }
    }
}
