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
    private final EngineGpu device;
    private final Map<Replayed, List<Long>> numbers = new LinkedHashMap<>();
    private final List<Runnable> releases = new ArrayList<>();

    /** Graph of the driver, which knows nothing of operations. */
    public interface Graph {
        /** Queues all of it once. */
        void launch(long stream);

        void close();
    }

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

    /** Begins without operations. */
    public GraphRecording(EngineGpu device) {
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

    /** Makes the graph whose launches count as operations of the buffers that have some in it. */
    public GpuGraph graph(Graph recorded) {
        return new RecordedGraph(recorded);
    }

    /** Gives back what was kept for the graph: it is closed, or was never made. */
    public synchronized void release() {
        releases.forEach(Runnable::run);
        releases.clear();
    }

    private final class RecordedGraph implements GpuGraph {
        private final Graph graph;
        private final List<Part> parts = parts();
        private final AtomicBoolean closed = new AtomicBoolean();
        private @Nullable EpEvent last;

        RecordedGraph(Graph graph) {
            this.graph = graph;
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
                graph.launch(stream);
                return device.record(stream);
            }
            List<EpEvent> ends = new ArrayList<>();
            launch(0, stream, ends);
            return ends.size() == 1 ? ends.get(0) : new All(List.copyOf(ends));
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
                graph.launch(stream);
            } else {
                Part mine = parts.get(part);
                ends.add(mine.operations().replay(mine.numbers(), stream, () -> launch(part + 1, stream, ends)));
            }
        }

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                graph.close();
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
