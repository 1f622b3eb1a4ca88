package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The operations of buffers that one recording of a graph has. Used by devices. Safe for several threads. */
public final class Recording {
    private final GpuDevice device;
    private final Map<Operations, List<Long>> numbers = new LinkedHashMap<>();
    private final List<Runnable> releases = new ArrayList<>();

    /** The graph as the device has it, which knows nothing of operations. */
    public interface Graph {
        /** Queues all of it once. */
        void launch(long stream);

        /** Frees it. */
        void close();
    }

    /**
     * What a graph has of one buffer.
     *
     * @param operations of the buffer
     * @param numbers that kernels were given when they were recorded, in order; see {@link Replays#RECORDED}
     */
    record Part(Operations operations, List<Long> numbers) {}

    /** An empty one. */
    public Recording(GpuDevice device) {
        this.device = device;
    }

    /** An operation is recorded under a number of its buffer's; that of a second half is there already. */
    synchronized void add(Operations operations, long number) {
        List<Long> known = numbers.computeIfAbsent(operations, o -> new ArrayList<>());
        if (!known.contains(number)) {
            known.add(number);
        }
    }

    /** {@code release} runs when the graph is closed. */
    synchronized void whenClosed(Runnable release) {
        releases.add(release);
    }

    /** In an order that is the same for all graphs, so that two launches never wait for each other's buffers. */
    private synchronized List<Part> parts() {
        return numbers.entrySet().stream()
                .map(one -> new Part(one.getKey(), List.copyOf(one.getValue())))
                .sorted(Comparator.comparingLong(part -> part.operations().place()))
                .toList();
    }

    /** The graph, whose launches the buffers know of. */
    public GpuGraph graph(Graph recorded) {
        return new RecordedGraph(device, recorded, parts(), this::release);
    }

    /** Gives back what was kept for the graph: it is closed, or was never made. */
    public synchronized void release() {
        releases.forEach(Runnable::run);
        releases.clear();
    }
}
