package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.WireFormat;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.rows.RowsForTests;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Operations of both modes between two ranks that are threads, with rows in Java and with every native variant. */
@Tag("verify")
class HostRowsTest {
    private static final int TOKENS = 40;
    private static final EpShape SHAPE = EpShape.builder(272, 8, 3)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    /** One rank, which collects what its operations give. */
    private static final class Rank {
        private final EpGroup group;
        private final EpBuffer buffer;
        private final Random random;
        private final TensorArena arena;
        private final List<byte[]> results = new ArrayList<>();

        Rank(EpGroup group) {
            this.group = group;
            arena = group.device().arena();
            buffer = group.createBuffer(SHAPE);
            random = new Random(group.rank());
        }

        private Tensor tensor(DataType type, long... dims) {
            Tensor tensor = arena.tensor(type, dims);
            ByteBuffer values = ByteBuffer.allocate((int) tensor.byteSize()).order(ByteOrder.nativeOrder());
            while (values.hasRemaining()) {
                switch (type) {
                    case BF16 -> values.putShort((short) RowsForTests.channel(random));
                    case FP32 -> values.putFloat(random.nextFloat());
                    case FP8_E4M3 -> values.put((byte) random.nextInt());
                    default -> values.putInt(random.nextInt(SHAPE.experts()));
                }
            }
            group.device().upload(values.flip(), tensor.memory());
            return tensor;
        }

        private void collect(Tensor tensor) {
            byte[] bytes = new byte[(int) tensor.memory().byteSize()];
            group.device().download(tensor.memory(), ByteBuffer.wrap(bytes));
            results.add(bytes);
        }

        private void highThroughput(RowLayout layout) {
            Tensor x = tensor(DataType.BF16, TOKENS, SHAPE.hidden());
            Tensor ids = tensor(DataType.INT32, TOKENS, SHAPE.topK());
            Tensor bias = tensor(DataType.BF16, TOKENS, SHAPE.hidden());
            DispatchResult sent = buffer.dispatch(
                    DispatchRequest.builder(x, ids).layout(layout).build());
            collect(sent.x());
            for (CombinePrecision precision : CombinePrecision.values()) {
                Tensor rows = tensor(DataType.BF16, sent.rows(), SHAPE.hidden());
                collect(buffer.combine(CombineRequest.builder(rows, sent.handle())
                                .precision(precision)
                                .bias(bias)
                                .build())
                        .out());
            }
        }

        /** FP8 rows into memory of the caller. */
        private void highThroughputInFp8() {
            Tensor x = tensor(DataType.FP8_E4M3, TOKENS, SHAPE.hidden());
            Tensor scales = tensor(DataType.FP32, TOKENS, SHAPE.scales());
            Tensor ids = tensor(DataType.INT32, TOKENS, SHAPE.topK());
            Tensor out = tensor(DataType.FP8_E4M3, 2L * TOKENS, SHAPE.hidden());
            DispatchResult sent = buffer.dispatch(DispatchRequest.builder(x, ids)
                    .scales(scales)
                    .topkWeights(tensor(DataType.FP32, TOKENS, SHAPE.topK()))
                    .out(out)
                    .build());
            collect(sent.x());
            sent.scales().ifPresent(this::collect);
            sent.topkWeights().ifPresent(this::collect);
            sent.topkIds().ifPresent(this::collect);
        }

        /** Sending and receiving apart, with coded rows back. */
        private void lowLatencyInHalves(CombinePrecision precision) {
            Tensor x = tensor(DataType.BF16, TOKENS, SHAPE.hidden());
            Tensor ids = tensor(DataType.INT32, TOKENS, SHAPE.topK());
            LowLatencyDispatchResult sent = buffer.lowLatencyDispatch(LowLatencyDispatchRequest.builder(x, ids)
                    .topkWeights(tensor(DataType.FP32, TOKENS, SHAPE.topK()))
                    .format(WireFormat.BF16)
                    .receiveHook()
                    .build());
            sent.receive();
            Tensor rows = buffer.nextLowLatencyCombineInput();
            fill(rows);
            CombineResult back = buffer.lowLatencyCombine(LowLatencyCombineRequest.builder(rows, sent.handle())
                    .precision(precision)
                    .format(WireFormat.LOGFMT10)
                    .receiveHook()
                    .build());
            back.receive();
            collect(back.out());
        }

        private void fill(Tensor rows) {
            ByteBuffer values =
                    ByteBuffer.allocate((int) rows.memory().byteSize()).order(ByteOrder.nativeOrder());
            while (values.hasRemaining()) {
                values.putShort((short) RowsForTests.channel(random));
            }
            group.device().upload(values.flip(), rows.memory());
        }

        private void lowLatency(WireFormat format) {
            Tensor x = tensor(DataType.BF16, TOKENS, SHAPE.hidden());
            Tensor ids = tensor(DataType.INT32, TOKENS, SHAPE.topK());
            for (CombinePrecision precision : CombinePrecision.values()) {
                LowLatencyDispatchResult sent = buffer.lowLatencyDispatch(LowLatencyDispatchRequest.builder(x, ids)
                        .topkWeights(tensor(DataType.FP32, TOKENS, SHAPE.topK()))
                        .format(format)
                        .build());
                collect(sent.x());
                sent.scales().ifPresent(this::collect);
                Tensor rows = buffer.nextLowLatencyCombineInput();
                fill(rows);
                collect(buffer.lowLatencyCombine(LowLatencyCombineRequest.builder(rows, sent.handle())
                                .precision(precision)
                                .build())
                        .out());
            }
        }

        List<byte[]> run() {
            for (RowLayout layout : RowLayout.values()) {
                highThroughput(layout);
            }
            highThroughputInFp8();
            highThroughput(RowLayout.BY_RANK);
            for (WireFormat format : EnumSet.complementOf(EnumSet.of(WireFormat.LOGFMT10))) {
                lowLatency(format);
            }
            for (CombinePrecision precision : CombinePrecision.values()) {
                lowLatencyInHalves(precision);
            }
            arena.close();
            // Ranks that are threads store into each other's memory, which a rank frees when it leaves.
            group.barrier(Guard.minute());
            return results;
        }
    }

    private static List<List<byte[]>> run(String rows, String nonTemporalBytes) throws Exception {
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .set("ep.device", "host:0")
                .set(EpKeys.HOST_ROWS.name(), rows)
                .set(EpKeys.HOST_NON_TEMPORAL_BYTES.name(), nonTemporalBytes)
                .build();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<CompletableFuture<List<byte[]>>> ranks = Bootstrap.inProcess(2).stream()
                    .map(bootstrap -> CompletableFuture.supplyAsync(() -> join(bootstrap, config), threads))
                    .toList();
            List<List<byte[]>> results = new ArrayList<>();
            for (CompletableFuture<List<byte[]>> rank : ranks) {
                results.add(rank.get(Guard.minute().toSeconds(), TimeUnit.SECONDS));
            }
            return results;
        } finally {
            threads.shutdownNow();
        }
    }

    private static List<byte[]> join(Bootstrap bootstrap, EpConfig config) {
        try (EpGroup group = EpGroup.join(bootstrap, config)) {
            return new Rank(group).run();
        }
    }

    @Test
    void operationsOfBothModesGiveTheBitsOfRowsInJava() throws Exception {
        List<String> variants = RowsForTests.variants();
        List<List<byte[]>> expected = run("java", "0");
        assertThat(expected.get(0)).isNotEmpty().noneMatch(bytes -> bytes.length == 0);
        for (String variant : variants) {
            for (String nonTemporalBytes : List.of("1", "1T")) {
                List<List<byte[]>> got = run(variant, nonTemporalBytes);
                for (int rank = 0; rank < expected.size(); rank++) {
                    assertThat(got.get(rank))
                            .as("%s, non-temporal stores above %s, rank %d", variant, nonTemporalBytes, rank)
                            .usingElementComparator(Arrays::compare)
                            .containsExactlyElementsOf(expected.get(rank));
                }
            }
        }
    }
}
