package org.ep4j.cli.gpu;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.ep4j.EpBuffer;
import org.ep4j.EpEvent;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.gpu.GpuEvent;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;

/**
 * Times chains of low-latency pairs: 128 pairs of dispatch and combine that follow each other on one stream. The host does not
 * synchronise inside a chain, and ranks wait for each other only where the operations do. The first pairs do not count: ranks that
 * began apart get into step there. One thread.
 *
 * @param barrier of all ranks, before each chain
 * @param parent takes the messages
 */
record GpuChains(GpuSpec spec, EpGroup group, EngineGpu gpu, LongSupplier barrier, Consumer<RankMessage> parent) {
    private static final Duration DEADLINE = Duration.ofMinutes(2);

    /** Pairs that do not count. */
    private static final int DROPPED = 16;

    /** Pairs of each half of those that count; a multiple of {@link GpuInputs#SETS}, so that both halves move the same rows. */
    private static final int HALF = 56;

    /** Chains before the first that counts: after these 12,000 pairs of each operation the JVM has compiled the calls. */
    private static final int MOST_WARM_UPS = 94;

    private static final int WARM_UPS_OF_ITERATION = 5;

    /** Events of a chain: behind the pairs that do not count, behind half of those that do, and at its end. */
    private record Events(GpuStream stream, GpuEvent start, GpuEvent middle, GpuEvent end) {}

    /** Some pairs one behind the other. */
    private interface Pairs {
        /** Queues them, and returns the end of the last one. */
        EpEvent queue();
    }

    /** Creates a buffer, measures all chains, and closes it; collective. */
    void run() {
        ExchangeSpec work = spec.work();
        EpShape shape = EpShape.builder(work.hidden(), work.experts(), work.topK())
                .maxLowLatencyTokens(Collections.max(spec.chainTokens()))
                .build();
        try (EpBuffer buffer = group.createBuffer(shape);
                GpuStream stream = gpu.createStream();
                GpuEvent start = gpu.createEvent();
                GpuEvent middle = gpu.createEvent();
                GpuEvent end = gpu.createEvent()) {
            Events events = new Events(stream, start, middle, end);
            int warmUps = Math.min(MOST_WARM_UPS, WARM_UPS_OF_ITERATION * spec.iterations());
            int done = 0;
            for (int tokens : spec.chainTokens()) {
                // No ceilings, so no rows for them.
                try (GpuInputs inputs = new GpuInputs(gpu, spec, group.rank(), tokens, 1)) {
                    GpuOperations operations = new GpuOperations(buffer, gpu, inputs, stream.handle());
                    warmUp(operations, events, warmUps);
                    for (GpuOperation operation : spec.chained()) {
                        measure(operation, tokens, operations, events);
                        parent.accept(new RankMessage.Progress(
                                ++done, spec.steps(), "chains of " + operation.text() + ", " + tokens + " tokens"));
                    }
                }
                warmUps = 1;
            }
            group.barrier(DEADLINE);
        }
    }

    /** Calls all operations by turns, so that none of them makes the JVM compile again while another is measured. */
    private void warmUp(GpuOperations operations, Events events, int chains) {
        List<GpuOperations.Measured> all =
                spec.chained().stream().map(operations::of).toList();
        for (int chain = 0; chain < chains; chain++) {
            for (GpuOperations.Measured pair : all) {
                chain(() -> queue(operations, pair, DROPPED), () -> queue(operations, pair, HALF), events);
            }
        }
    }

    private void measure(GpuOperation operation, int tokens, GpuOperations operations, Events events) {
        GpuOperations.Measured pair = operations.of(operation);
        Pairs dropped = () -> queue(operations, pair, DROPPED);
        Pairs half = () -> queue(operations, pair, HALF);
        parent.accept(measure(operation, tokens, "queued", dropped, half, events));
        // They keep the memory of the handles, which are closed as soon as their pairs are recorded.
        try (GpuGraph first = events.stream().capture(dropped::queue);
                GpuGraph counted = events.stream().capture(half::queue)) {
            Pairs replayedFirst = () -> replay(first, events.stream());
            Pairs replayed = () -> replay(counted, events.stream());
            chain(replayedFirst, replayed, events);
            parent.accept(measure(operation, tokens, "graph", replayedFirst, replayed, events));
        }
    }

    private static EpEvent queue(GpuOperations operations, GpuOperations.Measured pair, int count) {
        for (int i = 1; i < count; i++) {
            pair.prepare(i).queue();
            operations.release();
        }
        EpEvent last = pair.prepare(count).queue();
        operations.release();
        return last;
    }

    private static EpEvent replay(GpuGraph graph, GpuStream stream) {
        graph.launch(stream);
        return graph.lastLaunch();
    }

    private RankMessage.ChainSamples measure(
            GpuOperation operation, int tokens, String way, Pairs dropped, Pairs half, Events events) {
        List<Long> first = new ArrayList<>();
        List<Long> second = new ArrayList<>();
        for (int chain = 0; chain < spec.iterations(); chain++) {
            chain(dropped, half, events);
            first.add(events.middle().nanosSince(events.start()));
            second.add(events.end().nanosSince(events.middle()));
        }
        return new RankMessage.ChainSamples(operation.text(), tokens, way, HALF, first, second);
    }

    /** Runs a chain, until the host has seen its end. */
    @SuppressWarnings("ReturnValueIgnored") // the time of the barrier is for ranks on the host
    private void chain(Pairs dropped, Pairs half, Events events) {
        barrier.getAsLong();
        dropped.queue();
        events.start().record(events.stream());
        half.queue();
        events.middle().record(events.stream());
        EpEvent last = half.queue();
        events.end().record(events.stream());
        // As in GpuMeter, the driver never sleeps in this wait.
        gpu.synchronize(events.stream().handle());
        // Throws what an operation has failed with.
        last.await(DEADLINE);
    }
}
