package org.ep4j.cli.gpu;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.ep4j.Bootstrap;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.rank.ExchangeRank;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.HeapBytes;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.SpinBarrier;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.tck.TckSubject;

/** One rank of a measurement on GPUs, from joining to its last message. */
public record GpuRank(GpuSpec spec, Consumer<RankMessage> parent) {
    private static final Duration DEADLINE = Duration.ofMinutes(2);

    /** Tokens for which the GPU keeps up with the host, whose work for a call does not depend on them. */
    private static final int QUEUED_TOKENS = 8;

    /** Calls one after another, and batches of them: the first half makes the code as fast as it gets and does not count. */
    private static final int BATCH = 8;

    private static final int MOST_BATCHES = 1000;

    /** Batches for each counted round. */
    private static final int BATCHES_OF_ROUND = 50;

    /** Batches of calls behind them, of which it is read what they allocate. */
    private static final int ALLOCATION_BATCHES = 8;

    /** Joins as the {@code localRank}-th process of its host, or the one of this rank in this process; measures and reports. */
    public void run(Bootstrap bootstrap, int localRank) {
        EpConfig config = spec.settings(localRank).build();
        try (EpGroup group = EpGroup.join(bootstrap, config)) {
            EpDevice device = group.device();
            if (!(device instanceof EngineGpu gpu)) {
                throw new EpUnavailableException(device.id() + " is not a GPU; name one with --device");
            }
            if (spec.work().validate()) {
                // The results of the comparison with the reference, and none of its times.
                new ExchangeRank(spec.work(), message -> {
                            if (message instanceof RankMessage.Validated) {
                                parent.accept(message);
                            }
                        })
                        .run(group);
            }
            // Not the file of the comparison, which has been counted up.
            String file = spec.work().barrierFile();
            LongSupplier barrier = SpinBarrier.of(file.isEmpty() ? "" : file + "-gpu", group, DEADLINE);
            // First: where there is no room for their buffer, that shows before anything else is measured.
            if (spec.chains() > 0) {
                new GpuChains(spec, group, gpu, barrier, parent).run();
            }
            measure(group, gpu, barrier);
            RankMessage.Sent.of(group.rank(), group.traffic()).forEach(parent);
        }
    }

    private void measure(EpGroup group, EngineGpu gpu, LongSupplier barrier) {
        ExchangeSpec work = spec.work();
        long most = Math.max(ceilingTokens(Mode.HT), ceilingTokens(Mode.LL));
        EpShape shape = EpShape.builder(work.hidden(), work.experts(), work.topK())
                .maxTokens(spec.maxTokens(Mode.HT))
                .maxLowLatencyTokens(spec.maxTokens(Mode.LL))
                .build();
        // With a little more than the rows, for the gate; one expert a token, so that there is no room for rows by
        // expert.
        EpShape ceilings = EpShape.builder(work.hidden(), work.experts(), 1)
                .maxTokens((int) Math.min(EpShape.MAX_TOKENS, most + 1))
                .build();
        try (EpBuffer buffer = group.createBuffer(shape);
                EpBuffer ceilingBuffer = group.createBuffer(ceilings);
                Ceiling ceiling = new Ceiling(gpu, ceilingBuffer);
                GpuStream stream = gpu.createStream();
                GpuMeter meter = new GpuMeter(gpu, barrier, ceiling, stream)) {
            group.barrier(DEADLINE);
            parent.accept(RankMessage.Joined.of(group, buffer.size()));
            parent.accept(new RankMessage.OnGpu(
                    name(gpu),
                    gpu.info().architecture(),
                    gpu.info().multiprocessors(),
                    buffer.size().highThroughputSms(),
                    buffer.size().lowLatencySms()));
            measure(buffer, gpu, ceiling, meter, stream);
            group.barrier(DEADLINE);
        }
    }

    /** Tokens of a shape with as many rows as the ceilings of a mode use: of each token, one from each rank, or one for each selection. */
    private long ceilingTokens(Mode mode) {
        ExchangeSpec work = spec.work();
        boolean bySelection = spec.operations().stream().anyMatch(o -> o.mode() == mode && o.bySelection);
        long tokens = spec.maxTokens(mode);
        return bySelection ? Math.max(tokens, (tokens * work.topK() + work.ranks() - 1) / work.ranks()) : tokens;
    }

    /** Returns the name in the probe's text, since devices have no names otherwise. */
    private static String name(EngineGpu gpu) {
        ProbeRequest request = ProbeRequest.of(gpu.id(), EpConfig.builder().build(), DEADLINE);
        return TckSubject.deviceProvider(gpu.id().type()).stream()
                .flatMap(provider -> provider.probe(request).checks().stream())
                .map(Check::detail)
                .filter(detail -> detail.startsWith(gpu.id() + " is "))
                .findFirst()
                .orElse(gpu.id().toString());
    }

    private void measure(EpBuffer buffer, EngineGpu gpu, Ceiling ceiling, GpuMeter meter, GpuStream stream) {
        int done = spec.chains();
        Map<GpuOperation, QueuedTimes> queued = queuedTimes(buffer, gpu, ceiling, stream);
        for (Mode mode : Mode.values()) {
            for (int tokens : spec.uses(mode) ? spec.tokens(mode) : List.<Integer>of()) {
                try (GpuInputs inputs = new GpuInputs(gpu, spec, buffer.group().rank(), tokens, ceiling.capacity())) {
                    GpuOperations operations = new GpuOperations(buffer, gpu, inputs, stream.handle());
                    GpuCeilings ceilings = new GpuCeilings(buffer, spec, inputs, ceiling, stream, inputs.result());
                    for (GpuOperation operation : spec.operations()) {
                        if (operation.mode() == mode) {
                            parent.accept(measure(
                                    operation,
                                    operations,
                                    ceilings,
                                    inputs,
                                    meter,
                                    queued.getOrDefault(operation, QueuedTimes.NONE)));
                            parent.accept(new RankMessage.Progress(
                                    ++done, spec.steps(), operation.text() + ", " + tokens + " tokens"));
                        }
                    }
                    stream.synchronize(DEADLINE);
                }
            }
        }
    }

    /**
     * Operations that are queued one behind the other, ranks held together by nothing else; halves, which cannot be queued, have no times.
     *
     * @param calls nanoseconds until each call returned
     * @param rounds nanoseconds of one operation with what comes before it, from the beginning of a batch to its end
     * @param allocatedBytes that each of some more calls allocated on the heap of the JVM
     */
    private record QueuedTimes(List<Long> calls, List<Long> rounds, List<Long> allocatedBytes) {
        static final QueuedTimes NONE = new QueuedTimes(List.of(), List.of(), List.of());
    }

    /** All operations are called by turns before those that count. */
    private Map<GpuOperation, QueuedTimes> queuedTimes(
            EpBuffer buffer, EngineGpu gpu, Ceiling ceiling, GpuStream stream) {
        Map<GpuOperation, QueuedTimes> times = new EnumMap<>(GpuOperation.class);
        for (int pass = 0; pass < 2; pass++) {
            for (Mode mode : Mode.values()) {
                if (!spec.uses(mode)) {
                    continue;
                }
                int tokens = Math.min(QUEUED_TOKENS, spec.maxTokens(mode));
                try (GpuInputs inputs = new GpuInputs(gpu, spec, buffer.group().rank(), tokens, ceiling.capacity())) {
                    GpuOperations operations = new GpuOperations(buffer, gpu, inputs, stream.handle());
                    for (GpuOperation operation : spec.operations()) {
                        if (operation.mode() == mode) {
                            times.put(operation, queuedTimes(operation, operations, gpu, stream));
                        }
                    }
                }
            }
        }
        return times;
    }

    private QueuedTimes queuedTimes(GpuOperation operation, GpuOperations operations, EngineGpu gpu, GpuStream stream) {
        GpuOperations.Measured work = operations.of(operation);
        List<Long> calls = new ArrayList<>();
        List<Long> rounds = new ArrayList<>();
        int batches = Math.min(MOST_BATCHES, BATCHES_OF_ROUND * spec.iterations());
        for (int batch = 0; batch < batches; batch++) {
            boolean counts = batch >= batches / 2 && !operation.isHalf();
            long begin = System.nanoTime();
            for (int i = 0; i < BATCH; i++) {
                GpuOperations.Call call = work.prepare(batch * BATCH + i);
                long start = System.nanoTime();
                call.queue();
                if (counts) {
                    calls.add(System.nanoTime() - start);
                }
                operations.release();
            }
            gpu.synchronize(stream.handle());
            if (counts) {
                rounds.add((System.nanoTime() - begin) / BATCH);
            }
        }
        return new QueuedTimes(calls, rounds, allocatedBytes(operations, work, gpu, stream));
    }

    /** Apart from the times, which reading it would make longer. */
    private static List<Long> allocatedBytes(
            GpuOperations operations, GpuOperations.Measured work, EngineGpu gpu, GpuStream stream) {
        HeapBytes heap = new HeapBytes();
        List<Long> bytes = new ArrayList<>();
        for (int call = 0; call < ALLOCATION_BATCHES * BATCH; call++) {
            GpuOperations.Call next = work.prepare(call);
            long before = heap.soFar();
            next.queue();
            bytes.add(heap.soFar() - before);
            operations.release();
            if (call % BATCH == BATCH - 1) {
                gpu.synchronize(stream.handle());
            }
        }
        return bytes;
    }

    private RankMessage.GpuSamples measure(
            GpuOperation operation,
            GpuOperations operations,
            GpuCeilings ceilings,
            GpuInputs inputs,
            GpuMeter meter,
            QueuedTimes queued) {
        GpuOperations.Measured work = operations.of(operation);
        List<Long> onGpu = new ArrayList<>();
        List<Long> calls = new ArrayList<>();
        List<Long> ceiling = new ArrayList<>();
        List<Long> empty = new ArrayList<>();
        // Loading a module waits until the GPU is idle. Behind the closed gate, which opens by itself after 5 s, it
        // would take as long.
        if (ceilings.isKnown(operation)) {
            ceilings.run(operation, 0);
        }
        ceilings.nothing(operation);
        meter.synchronize();
        for (int round = 0; round < spec.warmup(); round++) {
            meter.asCall(work.prepare(round)::queue);
            operations.release();
        }
        for (int round = 0; round < spec.iterations(); round++) {
            calls.add(meter.asCall(work.prepare(round)::queue));
            operations.release();
            int set = round;
            GpuOperations.Call call = work.prepare(round);
            onGpu.add(operation.isHalf() ? meter.onGpu(call::queue, operations::isBusy) : meter.onGpu(call::queue));
            if (ceilings.isKnown(operation)) {
                ceiling.add(meter.onGpu(() -> ceilings.run(operation, set)));
            }
            empty.add(meter.onGpu(() -> ceilings.nothing(operation)));
            operations.release();
        }
        return new RankMessage.GpuSamples(
                operation.text(),
                inputs.tokens(),
                onGpu,
                calls,
                queued.calls(),
                queued.rounds(),
                ceiling,
                empty,
                ceilings.bytes(operation, false),
                ceilings.bytes(operation, true),
                ceilings.sentBytes(operation),
                queued.allocatedBytes());
    }
}
