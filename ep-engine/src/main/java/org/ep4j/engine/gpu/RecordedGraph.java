package org.ep4j.engine.gpu;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;

/** A graph whose launches count as operations of the buffers that have some in it. */
final class RecordedGraph implements GpuGraph {
    private final GpuDevice device;
    private final Recording.Graph graph;
    private final List<Recording.Part> parts;
    private final Runnable release;
    private final AtomicBoolean closed = new AtomicBoolean();

    RecordedGraph(GpuDevice device, Recording.Graph graph, List<Recording.Part> parts, Runnable release) {
        this.device = device;
        this.graph = graph;
        this.parts = parts;
        this.release = release;
    }

    @Override
    public EpEvent launch(long stream) {
        if (closed.get()) {
            throw new EpStateException("the graph is closed; record another one");
        }
        if (parts.isEmpty()) {
            graph.launch(stream);
            return device.record(stream);
        }
        List<EpEvent> ends = new ArrayList<>();
        launch(0, stream, ends);
        return ends.size() == 1 ? ends.get(0) : new All(List.copyOf(ends));
    }

    /** Under the locks of all buffers of the graph. */
    private void launch(int part, long stream, List<EpEvent> ends) {
        if (part == parts.size()) {
            graph.launch(stream);
        } else {
            Recording.Part mine = parts.get(part);
            ends.add(mine.operations().replay(mine.numbers(), stream, () -> launch(part + 1, stream, ends)));
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            graph.close();
            release.run();
        }
    }

    /** Ends at one point of a stream, each telling of another buffer's failures. */
    private record All(List<EpEvent> events) implements EpEvent {
        @Override
        public boolean isDone() {
            return events.stream().allMatch(EpEvent::isDone);
        }

        @Override
        public void await(Duration deadline) {
            events.forEach(event -> event.await(deadline));
        }

        @Override
        public long nativeHandle() {
            return events.get(events.size() - 1).nativeHandle();
        }
    }
}
