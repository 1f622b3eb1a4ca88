package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyHandle;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.WireFormat;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Bytes that operations allocate when requests are used again and handles are closed, on two ranks that are threads. */
@Tag("verify")
class AllocationTest {
    /** So many that an array by token, row or selection takes more than {@link #MOST_BYTES}, even of bytes. */
    private static final int TOKENS = 4096;

    private static final int BATCHES = 6;
    private static final int ROUNDS = 10;

    /** Result, handle and the objects of the call, also where the JVM has not compiled the call yet. */
    private static final long MOST_BYTES = 4000;

    private static final EpShape SHAPE = EpShape.builder(32, 16, 4)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    private static final class Rank {
        private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        private final EpGroup group;
        private final EpBuffer buffer;
        private final TensorArena arena;
        private final Map<String, Long> bytes = new TreeMap<>();

        Rank(EpGroup group) {
            this.group = group;
            arena = group.device().arena();
            buffer = group.createBuffer(SHAPE);
        }

        private Tensor tensor(DataType type, long... dims) {
            return arena.tensor(type, dims);
        }

        private Tensor ids(DataType type) {
            Tensor ids = tensor(type, TOKENS, SHAPE.topK());
            ByteBuffer values = ByteBuffer.allocate((int) ids.byteSize()).order(ByteOrder.nativeOrder());
            for (int i = 0; i < TOKENS * SHAPE.topK(); i++) {
                int id = i * 7 % SHAPE.experts();
                if (type == DataType.INT64) {
                    values.putLong(id);
                } else {
                    values.putInt(id);
                }
            }
            group.device().upload(values.flip(), ids.memory());
            return ids;
        }

        /** Measures the batch that allocates least: waits for a rank that gets no processor allocate, too. */
        private void measure(String name, Runnable operation) {
            long thread = Thread.currentThread().getId();
            long least = Long.MAX_VALUE;
            for (int batch = 0; batch < BATCHES; batch++) {
                long before = threads.getThreadAllocatedBytes(thread);
                for (int i = 0; i < ROUNDS; i++) {
                    operation.run();
                }
                least = Math.min(least, threads.getThreadAllocatedBytes(thread) - before);
            }
            bytes.put(name, least / ROUNDS);
        }

        private void highThroughput(DataType idType, RowLayout layout) {
            Tensor x = tensor(DataType.BF16, TOKENS, SHAPE.hidden());
            DispatchRequest request = DispatchRequest.builder(x, ids(idType))
                    .topkWeights(tensor(DataType.FP32, TOKENS, SHAPE.topK()))
                    .layout(layout)
                    .build();
            measure(
                    "dispatch " + layout + " " + idType,
                    () -> buffer.dispatch(request).handle().close());
            DispatchHandle sent = buffer.dispatch(request).handle();
            DispatchRequest cached = DispatchRequest.builder(x, sent).build();
            measure("cached dispatch " + layout, () -> buffer.dispatch(cached));
            CombineRequest back = CombineRequest.builder(tensor(DataType.BF16, sent.rows(), SHAPE.hidden()), sent)
                    .out(tensor(DataType.BF16, TOKENS, SHAPE.hidden()))
                    .build();
            measure("combine " + layout, () -> buffer.combine(back));
            sent.close();
        }

        private void lowLatency(WireFormat format) {
            LowLatencyDispatchRequest request = LowLatencyDispatchRequest.builder(
                            tensor(DataType.BF16, TOKENS, SHAPE.hidden()), ids(DataType.INT64))
                    .topkWeights(tensor(DataType.FP32, TOKENS, SHAPE.topK()))
                    .format(format)
                    .build();
            measure(
                    "low-latency dispatch " + format,
                    () -> buffer.lowLatencyDispatch(request).handle().close());
            LowLatencyHandle sent = buffer.lowLatencyDispatch(request).handle();
            LowLatencyCombineRequest back = LowLatencyCombineRequest.builder(
                            tensor(
                                    DataType.BF16,
                                    buffer.placement().localExperts(group.rank()),
                                    buffer.maxLowLatencyRows(),
                                    SHAPE.hidden()),
                            sent)
                    .out(tensor(DataType.BF16, TOKENS, SHAPE.hidden()))
                    .build();
            measure("low-latency combine after " + format, () -> buffer.lowLatencyCombine(back));
            sent.close();
        }
    }

    private static Map<String, Long> run(Bootstrap bootstrap, EpConfig config) {
        try (EpGroup group = EpGroup.join(bootstrap, config)) {
            Rank rank = new Rank(group);
            try {
                rank.highThroughput(DataType.INT64, RowLayout.BY_RANK);
                rank.highThroughput(DataType.INT32, RowLayout.BY_EXPERT);
                rank.lowLatency(WireFormat.BF16);
                rank.lowLatency(WireFormat.FP8);
                return rank.bytes;
            } finally {
                rank.arena.close();
            }
        }
    }

    @Test
    void operationsAllocateNothingThatGrowsWithTokens() throws Exception {
        EpConfig config =
                EpConfig.builder(Map.of(), Map.of()).set("ep.device", "host:0").build();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<CompletableFuture<Map<String, Long>>> both = Bootstrap.inProcess(2).stream()
                    .map(bootstrap -> CompletableFuture.supplyAsync(() -> run(bootstrap, config), threads))
                    .toList();
            List<Throwable> failures = new ArrayList<>();
            for (CompletableFuture<Map<String, Long>> one : both) {
                try {
                    assertThat(one.get(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                            .hasSize(10)
                            .allSatisfy(
                                    (name, bytes) -> assertThat(bytes).as(name).isLessThan(MOST_BYTES));
                } catch (ExecutionException e) {
                    failures.add(e.getCause());
                }
            }
            // All of them: one rank may only have waited for the other.
            assertThat(failures).isEmpty();
        } finally {
            threads.shutdownNow();
        }
    }
}
