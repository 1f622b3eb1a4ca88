package org.ep4j.cli.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.Tensor;
import org.ep4j.cli.EmulatedGpus;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.SpinBarrier;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.gpu.GpuBufferFacts;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A ceiling counts only if its kernels move what the operation moves. On emulated GPUs. */
@Tag("verify")
final class CeilingTest {
    private static final int TOKENS = 37;
    private static final int EXPERTS = 12;
    private static final Duration LONG = Guard.minutes(2);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource({"2, 64, 3, 16384", "3, 272, 4, 128", "4, 1024, 8, 512"})
    void everyRowArrivesAndEverySumIsRight(int ranks, int hidden, int topK, int piece) throws Exception {
        EmulatedGpus.require();
        ExchangeSpec work = new ExchangeSpec(
                ranks,
                "cuda",
                "",
                hidden,
                topK,
                EXPERTS,
                List.of(),
                0,
                0,
                0,
                0,
                1,
                false,
                1,
                false,
                5,
                folder.resolve("barrier").toString());
        GpuSpec spec =
                new GpuSpec(work, List.of(TOKENS), List.of(), 0, 0, List.of(GpuOperation.values()), 0, 1, List.of());
        ExecutorService threads = Executors.newFixedThreadPool(ranks);
        try {
            List<Future<?>> ends = new ArrayList<>();
            for (Bootstrap bootstrap : Bootstrap.inProcess(ranks)) {
                ends.add(threads.submit(() -> rank(bootstrap, spec, piece)));
            }
            for (Future<?> end : ends) {
                end.get(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static void rank(Bootstrap bootstrap, GpuSpec spec, int piece) {
        EpConfig config = EpConfig.builder()
                .set(EpKeys.DEVICE.name(), "cuda:" + bootstrap.rank())
                .build();
        ExchangeSpec work = spec.work();
        EpShape shape = EpShape.builder(work.hidden(), work.experts(), work.topK())
                .maxTokens(TOKENS * work.topK())
                .build();
        try (EpGroup group = EpGroup.join(bootstrap, config);
                EpBuffer buffer = group.createBuffer(shape);
                Ceiling ceiling = new Ceiling((EngineGpu) group.device(), buffer);
                GpuInputs inputs = new GpuInputs(group.device(), spec, group.rank(), TOKENS, ceiling.capacity());
                GpuStream stream = ((EngineGpu) group.device()).createStream();
                GpuMeter meter = new GpuMeter(
                        (EngineGpu) group.device(), SpinBarrier.of(work.barrierFile(), group, LONG), ceiling, stream);
                Arena arena = new Arena(group.device())) {
            group.barrier(LONG);
            GpuInputs.Set set = inputs.get(1);
            int rowBytes = 2 * work.hidden();
            Tensor out = inputs.result();
            for (GpuInputs.RowTargets targets : List.of(set.toRanks(), set.selections())) {
                assertThat(meter.onGpu(() -> ceiling.push(set.x().address(), rowBytes, targets, piece, 3, stream)))
                        .isPositive();
                group.barrier(LONG);
                checkPushed(
                        group,
                        GpuBufferFacts.of(buffer).orElseThrow(),
                        buffer.combineInput(),
                        set.x(),
                        targets,
                        arena,
                        rowBytes);
                meter.onGpu(() -> ceiling.pull(out.address(), rowBytes, targets, piece, 2, stream));
                checkSums(group, set.x(), targets, out, arena, work.hidden());
                group.barrier(LONG);
            }
        }
    }

    private static void checkPushed(
            EpGroup group,
            GpuBufferFacts facts,
            Tensor input,
            Tensor x,
            GpuInputs.RowTargets targets,
            Arena arena,
            int rowBytes) {
        long rows = input.address() - facts.symmetricMemory().get(group.rank()).address();
        int[] rank = arena.device().ints(targets.rank());
        int[] row = arena.device().ints(targets.row());
        byte[] sent = arena.readRaw(x);
        int checked = 0;
        for (int i = 0; i < rank.length; i++) {
            if (rank[i] >= 0) {
                DeviceMemory there = facts.symmetricMemory().get(rank[i]);
                ByteBuffer got = ByteBuffer.allocateDirect(rowBytes);
                group.device()
                        .download(
                                DeviceMemory.of(
                                        there.address() + rows + (long) row[i] * rowBytes,
                                        rowBytes,
                                        group.device().id()),
                                got);
                int token = i / targets.width();
                assertThat(got.flip())
                        .as("token %d, target %d", token, i % targets.width())
                        .isEqualTo(ByteBuffer.wrap(sent, token * rowBytes, rowBytes));
                checked++;
            }
        }
        assertThat(checked).isGreaterThanOrEqualTo(TOKENS);
    }

    /** All rows of a token are the same, so the sum is that of so many equal numbers. */
    private static void checkSums(
            EpGroup group, Tensor x, GpuInputs.RowTargets targets, Tensor out, Arena arena, int hidden) {
        int[] rank = arena.device().ints(targets.rank());
        ByteBuffer sent = ByteBuffer.wrap(arena.readRaw(x)).order(ByteOrder.nativeOrder());
        ByteBuffer sums = ByteBuffer.wrap(arena.readRaw(out)).order(ByteOrder.nativeOrder());
        for (int token = 0; token < TOKENS; token++) {
            int rows = 0;
            for (int j = 0; j < targets.width(); j++) {
                rows += rank[token * targets.width() + j] >= 0 ? 1 : 0;
            }
            for (int h = 0; h < hidden; h++) {
                float value = DataType.fromBf16(sent.getShort(2 * (token * hidden + h)));
                float sum = 0;
                for (int j = 0; j < rows; j++) {
                    sum += value;
                }
                assertThat(sums.getShort(2 * (token * hidden + h)))
                        .as("rank %d, token %d, channel %d", group.rank(), token, h)
                        .isEqualTo(DataType.toBf16(sum));
            }
        }
    }
}
