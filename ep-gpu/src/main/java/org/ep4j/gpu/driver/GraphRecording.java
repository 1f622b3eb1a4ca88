package org.ep4j.gpu.driver;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuStream;
import org.jspecify.annotations.Nullable;

/** Operations of buffers that are recorded in one graph. Safe for several threads. */
public final class GraphRecording {
    private final DriverDevice device;
    private final Map<Replayed, List<Long>> numbers = new LinkedHashMap<>();
    private final List<Runnable> checks = new ArrayList<>();
    private final List<Runnable> releases = new ArrayList<>();

    /** Operations of one buffer, some of which may be in a graph. */
    public interface Replayed {
        /** A number that is unique in this process: the locks of several buffers are taken in this order. */
        long place();

        /**
         * Launches a graph under the lock of the buffer, as operations of it.
         *
         * @param numbers that kernels were given when the operations were recorded, in order
         * @param launch queues the graph on {@code stream}
         * @return the end of these operations
         */
        EpEvent replay(List<Long> numbers, long stream, Runnable launch);
    }

    private record Part(Replayed operations, List<Long> numbers) {}

    GraphRecording(DriverDevice device) {
        this.device = device;
    }

    /** Adds an operation, or half of one, by its number in its buffer. */
    public synchronized void add(Replayed operations, long number) {
        numbers.computeIfAbsent(operations, o -> new ArrayList<>()).add(number);
    }

    /** Runs {@code check} when all is recorded; there will be no graph if it throws. */
    public synchronized void beforeEnd(Runnable check) {
        checks.add(check);
    }

    private synchronized List<Runnable> checks() {
        return List.copyOf(checks);
    }

    /** Runs {@code release} when the graph is closed, or was not created. */
    public synchronized void whenClosed(Runnable release) {
        releases.add(release);
    }

    /** Returns the operations by buffer, in the same order for all graphs, so that two launches never wait for each other's buffers. */
    private synchronized List<Part> parts() {
        return numbers.entrySet().stream()
                .map(one -> new Part(one.getKey(), List.copyOf(one.getValue())))
                .sorted(Comparator.comparingLong(part -> part.operations().place()))
                .toList();
    }

    /** Records what {@code work} queues; launches of the graph count as operations of the buffers that have some in it. */
    GpuGraph capture(long stream, Runnable work) {
        try {
            return new RecordedGraph(executable(stream, work));
        } catch (RuntimeException | Error e) {
            release();
            throw e;
        }
    }

    private long executable(long stream, Runnable work) {
        DriverContext context = device.context();
        GpuDriver driver = context.driver();
        context.call(
                "beginning to capture stream 0x" + Long.toHexString(stream),
                () -> driver.streamBeginCapture(stream, GpuDriver.THREAD_LOCAL));
        long[] graph = new long[1];
        try {
            work.run();
            checks().forEach(Runnable::run);
        } catch (RuntimeException | Error e) {
            // Ends the recording, and drops what was recorded.
            if (context.result(() -> driver.streamEndCapture(stream, graph)) == 0) {
                context.result(() -> driver.graphDestroy(graph[0]));
            }
            throw e;
        }
        context.call("the recording of a graph", () -> driver.streamEndCapture(stream, graph));
        try {
            return context.read(
                    () -> "making a graph ready", out -> driver.graphInstantiateWithFlags(out, graph[0], 0));
        } finally {
            context.result(() -> driver.graphDestroy(graph[0]));
        }
    }

    /** Releases what was kept for the graph: it is closed, or was never created. */
    private synchronized void release() {
        releases.forEach(Runnable::run);
        releases.clear();
    }

    private final class RecordedGraph implements GpuGraph {
        private final DriverContext context = device.context();
        private final long executable;
        private final List<Part> parts = parts();
        private final AtomicBoolean closed = new AtomicBoolean();
        private @Nullable EpEvent last;

        RecordedGraph(long executable) {
            this.executable = executable;
        }

        @Override
        public void launch(GpuStream stream) {
            if (closed.get()) {
                throw new EpStateException("the graph is closed; record another one");
            }
            long handle = device.handle(stream);
            List<EpEvent> ends = new ArrayList<>();
            launch(0, handle, ends);
            if (ends.isEmpty()) {
                ends.add(device.record(handle));
            }
            last = ends.size() == 1 ? ends.get(0) : new All(List.copyOf(ends));
        }

        @Override
        public EpEvent lastLaunch() {
            EpEvent end = last;
            if (end == null) {
                throw new EpStateException("the graph was never launched; launch it first");
            }
            return end;
        }

        /** Launches under the locks of all buffers of the graph. */
        private void launch(int part, long stream, List<EpEvent> ends) {
            if (part == parts.size()) {
                context.call("launch of a graph", () -> context.driver().graphLaunch(executable, stream));
            } else {
                Part mine = parts.get(part);
                ends.add(mine.operations().replay(mine.numbers(), stream, () -> launch(part + 1, stream, ends)));
            }
        }

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                context.call("destroying a graph", () -> context.driver().graphExecDestroy(executable));
                release();
            }
        }
    }

    /** Ends of one launch, at one point of a stream, each with the failures of another buffer. */
    private record All(List<EpEvent> events) implements EpEvent {
        @Override
        public boolean isDone() {
            return events.stream().allMatch(EpEvent::isDone);
        }

        @Override
        public void await(Duration timeout) {
            events.forEach(event -> event.await(timeout));
        }

        @Override
        public long nativeHandle() {
            return events.get(events.size() - 1).nativeHandle();
        }
    }
}
