package org.ep4j.cli.gpu;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
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
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.SpinBarrier;
import org.ep4j.config.EpKeys;
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

    /** Joins as the {@code localRank}-th process of its host, or the one of this rank in this process; measures and reports. */
    public void run(Bootstrap bootstrap, int localRank) {
        EpConfig config = spec.work()
                .settings(localRank)
                .set(EpKeys.GPU_SMS.name(), spec.sms())
                .set(EpKeys.LOW_LATENCY_SMS.name(), spec.lowLatencySms())
                .build();
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
            measure(group, gpu);
        }
    }

    private void measure(EpGroup group, EngineGpu gpu) {
        ExchangeSpec work = spec.work();
        int most = Math.max(
                spec.maxTokens(Mode.HT), (spec.maxTokens(Mode.LL) * work.topK() + work.ranks() - 1) / work.ranks());
        EpShape shape = EpShape.builder(work.hidden(), work.experts(), work.topK())
                .maxTokens(spec.maxTokens(Mode.HT))
                .maxLowLatencyTokens(spec.maxTokens(Mode.LL))
                .build();
        // With a little more than the rows, for the gate.
        EpShape ceilings = EpShape.builder(work.hidden(), work.experts(), work.topK())
                .maxTokens(Math.max(most, spec.maxTokens(Mode.LL)) + 1)
                .build();
        // Not the file of the comparison, which has been counted up.
        String barrier = work.barrierFile().isEmpty() ? "" : work.barrierFile() + "-gpu";
        try (EpBuffer buffer = group.createBuffer(shape);
                EpBuffer ceilingBuffer = group.createBuffer(ceilings);
                Ceiling ceiling = new Ceiling(gpu, ceilingBuffer);
                GpuStream stream = gpu.createStream();
                GpuMeter meter = new GpuMeter(gpu, SpinBarrier.of(barrier, group, DEADLINE), ceiling, stream)) {
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
        int total = spec.operations().stream()
                .mapToInt(o -> spec.tokens(o.mode()).size())
                .sum();
        int done = 0;
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
                                    ++done, total, operation.text() + ", " + tokens + " tokens"));
                        }
                    }
                    stream.synchronize(DEADLINE);
                }
            }
        }
    }

    /**
     * Operations that are queued one behind the other, ranks held together by nothing else.
     *
     * @param calls nanoseconds until each call returned
     * @param rounds nanoseconds of one operation with what comes before it, from the beginning of a batch to its end
     */
    private record QueuedTimes(List<Long> calls, List<Long> rounds) {
        static final QueuedTimes NONE = new QueuedTimes(List.of(), List.of());
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
                            times.put(operation, queuedTimes(operations, operations.of(operation), gpu, stream));
                        }
                    }
                }
            }
        }
        return times;
    }

    private QueuedTimes queuedTimes(
            GpuOperations operations, GpuOperations.Measured work, EngineGpu gpu, GpuStream stream) {
        List<Long> calls = new ArrayList<>();
        List<Long> rounds = new ArrayList<>();
        int batches = Math.min(MOST_BATCHES, BATCHES_OF_ROUND * spec.iterations());
        for (int batch = 0; batch < batches; batch++) {
            boolean counts = batch >= batches / 2;
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
        return new QueuedTimes(calls, rounds);
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
        for (int round = 0; round < spec.warmup(); round++) {
            meter.asCall(work.prepare(round)::queue);
            operations.release();
        }
        for (int round = 0; round < spec.iterations(); round++) {
            calls.add(meter.asCall(work.prepare(round)::queue));
            int set = round;
            onGpu.add(meter.onGpu(work.prepare(set)::queue));
            if (ceilings.areKnown()) {
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
                ceilings.bytes(operation, true));
    }
}
