package org.ep4j.tck.rules;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.ep4j.CombineResult;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.TensorArena;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuStream;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Native streams of GPUs, and graphs that record them. */
final class StreamScenario implements Scenario {
    private static final int REPLAYS = 4;

    @Override
    public void run(RankContext context) {
        EpBuffer buffer = Setup.of(context).buffer();
        switch (context.params().text("case", "")) {
            case "stream" -> onStream(context, buffer, context.params().text("on", "0"));
            case "in-turn" -> inTurn(context, buffer);
            case "graph-high" -> graphHigh(context, buffer);
            case "graph-low" -> graphLow(context, buffer);
            case "graph-turns" -> graphTurns(context, buffer);
            case "graph-halves" -> graphHalves(context, buffer);
            case "half-refusals" -> halfRefusals(context, buffer);
            case "graph-refusals" -> graphRefusals(context, buffer);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    /**
     * Returns the device as a GPU.
     *
     * @throws AssertionError when it is none, although the subject declares streams
     */
    private static GpuDevice gpu(EpBuffer buffer) {
        EpDevice device = buffer.group().device();
        Checks.that(
                GpuDevice.isGpu(device),
                "the device " + device.id() + " has no native streams, but STREAMS is declared for the tested backend");
        return GpuDevice.of(device);
    }

    private static void onStream(RankContext context, EpBuffer buffer, String handle) {
        if (!handle.equals("created")) {
            rounds(context, buffer, Long.parseLong(handle));
            return;
        }
        try (GpuStream stream = gpu(buffer).createStream()) {
            rounds(context, buffer, stream.handle());
            stream.synchronize(Checks.patience());
        }
    }

    /** Runs exchanges in both modes, waiting and asynchronous. */
    private static void rounds(RankContext context, EpBuffer buffer, long stream) {
        int seed = 0;
        for (String how : List.of("", "async worst ", "async id64 cached ")) {
            Params params = Params.parse(how).with("stream", stream);
            HighThroughputExchange.run(context, buffer, params.with("seed", ++seed));
            LowLatencyExchange.run(context, buffer, params.with("seed", ++seed));
        }
    }

    /** Queues every operation on another stream than the one before, without waiting in between. */
    private static void inTurn(RankContext context, EpBuffer buffer) {
        Setup setup = Setup.of(context);
        try (GpuStream one = gpu(buffer).createStream();
                GpuStream two = gpu(buffer).createStream()) {
            for (int round = 0; round < 6; round++) {
                long first = round % 2 == 0 ? one.handle() : two.handle();
                long second = round % 2 == 0 ? two.handle() : one.handle();
                try (GraphedExchange exchange =
                        new GraphedExchange.HighThroughput(context, buffer, setup.workload(), false)) {
                    exchange.load(setup.workload(round));
                    exchange.queue(first, second);
                    one.synchronize(Checks.patience());
                    two.synchronize(Checks.patience());
                    exchange.verify();
                }
            }
        }
    }

    private static void graphHigh(RankContext context, EpBuffer buffer) {
        boolean zeroCopy = context.params().has("zerocopy");
        replay(context, buffer, 50, like -> new GraphedExchange.HighThroughput(context, buffer, like, zeroCopy));
    }

    private static void graphLow(RankContext context, EpBuffer buffer) {
        replay(context, buffer, 70, like -> new GraphedExchange.LowLatency(context, buffer, like, context.params()));
    }

    /** Records an exchange, replays it with several inputs, and compares the results. */
    private static void replay(
            RankContext context, EpBuffer buffer, int seed, Function<Workload, GraphedExchange> exchangeOf) {
        Setup setup = Setup.of(context);
        try (GpuStream stream = gpu(buffer).createStream();
                GraphedExchange exchange = exchangeOf.apply(setup.workload());
                GpuGraph graph = stream.capture(() -> exchange.queue(stream.handle(), stream.handle()))) {
            for (int replay = 0; replay < REPLAYS; replay++) {
                exchange.load(setup.workload(seed + replay));
                graph.launch(stream);
                stream.synchronize(Checks.patience());
                exchange.verify();
            }
            // Without a pause ranks may be a replay apart.
            for (int replay = 0; replay < REPLAYS; replay++) {
                graph.launch(stream);
            }
            stream.synchronize(Checks.patience());
            exchange.verify();
        }
        rounds(context, buffer, 0);
    }

    /** Operations are numbered in one sequence, whether they are replayed or not. */
    private static void graphTurns(RankContext context, EpBuffer buffer) {
        Setup setup = Setup.of(context);
        rounds(context, buffer, 0);
        try (GpuStream stream = gpu(buffer).createStream();
                GraphedExchange high = new GraphedExchange.HighThroughput(context, buffer, setup.workload(), false);
                GraphedExchange low =
                        new GraphedExchange.LowLatency(context, buffer, setup.workload(), context.params());
                GpuGraph highGraph = stream.capture(() -> high.queue(stream.handle(), stream.handle()));
                GpuGraph lowGraph = stream.capture(() -> low.queue(stream.handle(), stream.handle()))) {
            for (int round = 0; round < 3; round++) {
                high.load(setup.workload(90 + round));
                highGraph.launch(stream);
                low.load(setup.workload(95 + round));
                lowGraph.launch(stream);
                stream.synchronize(Checks.patience());
                context.barrier();
                rounds(context, buffer, stream.handle());
            }
        }
    }

    private static void graphRefusals(RankContext context, EpBuffer buffer) {
        Setup setup = Setup.of(context);
        try (GpuStream stream = gpu(buffer).createStream();
                GraphedExchange.HighThroughput exchange =
                        new GraphedExchange.HighThroughput(context, buffer, setup.workload(), false)) {
            OpOptions recorded = OpOptions.DEFAULT.onStream(stream.handle());
            EpBuffer waiting = buffer.withOptions(recorded);
            EpBuffer queued = buffer.withOptions(recorded.asynchronous());
            refusedInside(
                    stream,
                    EpStateException.class,
                    "an operation that waits",
                    () -> waiting.dispatch(exchange.request().worstCase().build()));
            refusedInside(
                    stream,
                    EpArgumentException.class,
                    "exact counts",
                    () -> queued.dispatch(exchange.request().build()));
        }
        context.barrier();
        rounds(context, buffer, 0);
    }

    /** Records two exchanges, each of which sends before the other one receives. */
    private static void graphHalves(RankContext context, EpBuffer buffer) {
        Setup setup = Setup.of(context);
        Params params = context.params();
        try (GpuStream stream = gpu(buffer).createStream();
                GraphedExchange.LowLatency one =
                        new GraphedExchange.LowLatency(context, buffer, setup.workload(1), params);
                GraphedExchange.LowLatency two =
                        new GraphedExchange.LowLatency(context, buffer, setup.workload(2), params);
                GpuGraph graph = stream.capture(() -> inTurn(one, two, stream.handle()))) {
            for (int replay = 0; replay < REPLAYS; replay++) {
                one.load(setup.workload(50 + replay));
                two.load(setup.workload(70 + replay));
                graph.launch(stream);
                stream.synchronize(Checks.patience());
                one.verify();
                two.verify();
            }
            // Without a pause ranks may be a replay apart.
            for (int replay = 0; replay < REPLAYS; replay++) {
                graph.launch(stream);
            }
            stream.synchronize(Checks.patience());
            one.verify();
            two.verify();
        }
        rounds(context, buffer, 0);
    }

    private static void inTurn(GraphedExchange.LowLatency one, GraphedExchange.LowLatency two, long stream) {
        LowLatencyDispatchResult first = one.send(stream);
        LowLatencyDispatchResult second = two.send(stream);
        CombineResult firstBack = one.sendBack(first, stream);
        CombineResult secondBack = two.sendBack(second, stream);
        one.receive(first, firstBack);
        two.receive(second, secondBack);
    }

    private static void halfRefusals(RankContext context, EpBuffer buffer) {
        Setup setup = Setup.of(context);
        try (GpuStream stream = gpu(buffer).createStream();
                GraphedExchange.LowLatency exchange =
                        new GraphedExchange.LowLatency(context, buffer, setup.workload(), context.params());
                GpuGraph graph = stream.capture(() -> exchange.queue(stream.handle(), stream.handle()))) {
            List<LowLatencyDispatchResult> recorded = new ArrayList<>();
            Checks.refused(
                    EpStateException.class,
                    "a recording that ends before receive()",
                    () -> stream.capture(() -> recorded.add(exchange.send(stream.handle())))
                            .close());
            Checks.refused(
                    EpStateException.class, "receive() after the recording of its dispatch", recorded.get(0)::receive);
            LowLatencyDispatchResult sent = exchange.send(stream.handle());
            refusedInside(
                    stream, EpStateException.class, "receive() of a dispatch that was sent before", sent::receive);
            Checks.refused(
                    EpStateException.class,
                    "a launch of a graph before receive() of a dispatch outside of it",
                    () -> graph.launch(stream));
            exchange.receive(sent, exchange.sendBack(sent, stream.handle()));
            stream.synchronize(Checks.patience());
            exchange.verify();
        }
        rounds(context, buffer, 0);
    }

    private static <E extends EpException> void refusedInside(
            GpuStream stream, Class<E> type, String what, Runnable action) {
        stream.capture(() -> Checks.refused(type, what + " in a recording", action))
                .close();
    }

    /** Checks memory, copies, new streams and operations after ranks died. */
    static void deviceWorks(RankContext context, EpBuffer buffer) {
        byte[] bytes = new byte[1 << 20];
        Arrays.fill(bytes, (byte) (context.rank() + 1));
        EpDevice device = buffer.group().device();
        try (TensorArena arena = device.arena()) {
            DeviceMemory memory = arena.memory(bytes.length);
            ByteBuffer there = ByteBuffer.allocateDirect(bytes.length);
            device.upload(ByteBuffer.wrap(bytes), memory);
            device.download(memory, there);
            Checks.equal("bytes that were copied to the device and back", there.flip(), ByteBuffer.wrap(bytes));
        }
        try (GpuStream stream = gpu(buffer).createStream()) {
            rounds(context, buffer, stream.handle());
        }
    }
}
