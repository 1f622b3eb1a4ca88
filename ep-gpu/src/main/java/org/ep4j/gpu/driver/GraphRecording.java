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

/** Operations of buffers that are recorded in one graph. Used by devices. Safe for several threads. */
public final class GraphRecording {
    private final DriverDevice device;
    private final Map<Replayed, List<Long>> numbers = new LinkedHashMap<>();
    private final List<Runnable> releases = new ArrayList<>();

    /** Operations of one buffer, of which a graph can contain some. */
    public interface Replayed {
        /** A number that no other buffer of this process has: the locks of several buffers are taken in the order of theirs. */
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

    /**
     * Recorded operations of one buffer.
     *
     * @param numbers that kernels were given when they were recorded, in order
     */
    private record Part(Replayed operations, List<Long> numbers) {}

    GraphRecording(DriverDevice device) {
        this.device = device;
    }

    /** Adds an operation by its number in its buffer; the second half of an operation has the number of the first. */
    public synchronized void add(Replayed operations, long number) {
        List<Long> known = numbers.computeIfAbsent(operations, o -> new ArrayList<>());
        if (!known.contains(number)) {
            known.add(number);
        }
    }

    /** {@code release} runs when the graph is closed. */
    public synchronized void whenClosed(Runnable release) {
        releases.add(release);
    }

    /** In an order that is the same for all graphs, so that two launches never wait for each other's buffers. */
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
                () -> driver.beginCapture(stream, GpuDriver.THREAD_LOCAL));
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
        try {
            return context.read(() -> "making a graph ready", out -> driver.instantiate(out, graph[0], 0));
        } finally {
            context.result(() -> driver.destroyGraph(graph[0]));
        }
    }

    /** Gives back what was kept for the graph: it is closed, or was never made. */
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
            last = launch(device.handle(stream));
        }

        private EpEvent launch(long stream) {
            if (parts.isEmpty()) {
                queue(stream);
                return device.record(stream);
            }
            List<EpEvent> ends = new ArrayList<>();
            launch(0, stream, ends);
            return ends.size() == 1 ? ends.get(0) : new All(List.copyOf(ends));
        }

        private void queue(long stream) {
            context.call("launch of a graph", () -> context.driver().launchGraph(executable, stream));
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
                queue(stream);
            } else {
                Part mine = parts.get(part);
                ends.add(mine.operations().replay(mine.numbers(), stream, () -> launch(part + 1, stream, ends)));
            }
        }

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                context.call("destroying a graph", () -> context.driver().destroyExecutable(executable));
                release();
            }
        }
    }

    /** Ends of one launch: all at one point of a stream, each with the failures of another buffer. */
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
