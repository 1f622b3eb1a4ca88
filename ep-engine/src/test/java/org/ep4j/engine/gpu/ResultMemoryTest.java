package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import org.ep4j.BufferPart;
import org.ep4j.BufferSize;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.spi.EpRuntime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory of results is taken when a call first needs it. */
@Timeout(120)
final class ResultMemoryTest {
    private static final int TOKENS = 40;
    private static final EpShape SHAPE = EpShape.builder(1024, 4, 2)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    private static EpGroup alone() {
        EmulatedGpu.require();
        return EpGroup.join(
                Bootstraps.inProcess(1).get(0),
                EpConfig.builder(Map.of(), Map.of())
                        .set("ep.device", EmulatedGpu.TYPE + ":0")
                        .build());
    }

    private static Tensor tensor(EpGroup group, DataType type, long... dims) {
        long bytes = type.bytes();
        for (long dim : dims) {
            bytes *= dim;
        }
        return Tensor.of(group.device().allocate(bytes).memory(), type, dims);
    }

    private static DispatchRequest.Builder request(EpGroup group) {
        return DispatchRequest.of(
                tensor(group, DataType.BF16, TOKENS, SHAPE.hidden()),
                tensor(group, DataType.INT32, TOKENS, SHAPE.topK()));
    }

    @Test
    void whatIsNotUsedTakesNothing() {
        try (EpGroup group = alone();
                EpBuffer buffer = group.createBuffer(SHAPE)) {
            GpuBuffer gpu = (GpuBuffer) buffer;
            Map<BufferPart, Long> parts = buffer.size().parts();
            long byExpert = parts.getOrDefault(BufferPart.BY_EXPERT, 0L);
            assertThat(gpu.resultBytes()).isZero();
            buffer.dispatch(request(group).build());
            long byRank = gpu.resultBytes();
            assertThat(byRank).isPositive().isLessThanOrEqualTo(parts.getOrDefault(BufferPart.DISPATCHED, 0L));
            Tensor out = tensor(group, DataType.BF16, (long) TOKENS * SHAPE.topK(), SHAPE.hidden());
            buffer.dispatch(request(group).layout(RowLayout.BY_EXPERT).out(out).build());
            assertThat(gpu.resultBytes()).as("where rows are given a place").isEqualTo(byRank);
            DispatchResult expanded =
                    buffer.dispatch(request(group).layout(RowLayout.BY_EXPERT).build());
            assertThat(expanded.rows()).isEqualTo((long) TOKENS * SHAPE.topK());
            assertThat(gpu.resultBytes() - byRank).as("rows without scales").isBetween(byExpert * 9 / 10, byExpert);
        }
    }

    @Test
    void lowLatencyTakesOneBankAfterTheOther() {
        try (EpGroup group = alone();
                EpBuffer buffer = group.createBuffer(SHAPE)) {
            GpuBuffer gpu = (GpuBuffer) buffer;
            Tensor x = tensor(group, DataType.BF16, TOKENS, SHAPE.hidden());
            Tensor ids = tensor(group, DataType.INT32, TOKENS, SHAPE.topK());
            // Low latency has room for one selection of each expert for every token.
            ByteBuffer values = ByteBuffer.allocate((int) ids.byteSize()).order(ByteOrder.nativeOrder());
            while (values.hasRemaining()) {
                values.putInt(values.position() / Integer.BYTES % SHAPE.topK());
            }
            group.device().upload(values.flip(), ids.memory());
            Tensor weights = tensor(group, DataType.FP32, TOKENS, SHAPE.topK());
            long[] taken = new long[4];
            for (int i = 0; i < taken.length; i++) {
                LowLatencyDispatchResult arrived =
                        buffer.dispatch(LowLatencyDispatchRequest.of(x, ids).build());
                buffer.combine(LowLatencyCombineRequest.of(buffer.lowLatencyCombineInput(), arrived.handle())
                        .topkWeights(weights)
                        .build());
                taken[i] = gpu.resultBytes();
            }
            assertThat(taken[0]).isPositive();
            assertThat(taken[1]).isEqualTo(2 * taken[0]);
            assertThat(taken[3]).isEqualTo(taken[1]).isLessThan(buffer.size().local());
        }
    }

    @Test
    void layoutThatTheShapeLeavesOutIsRefused() {
        EpShape byRank = EpShape.builder(1024, 4, 2)
                .maxTokens(TOKENS)
                .layouts(RowLayout.BY_RANK)
                .build();
        try (EpGroup group = alone();
                EpBuffer buffer = group.createBuffer(byRank)) {
            assertThat(buffer.size().parts()).doesNotContainKey(BufferPart.BY_EXPERT);
            assertThatThrownBy(() -> buffer.dispatch(
                            request(group).layout(RowLayout.BY_EXPERT).build()))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("layout is BY_EXPERT, must be of [BY_RANK]");
            assertThat(buffer.dispatch(request(group).build()).rows()).isEqualTo(TOKENS);
        }
    }

    /** Rows of 64 ranks with 4,096 tokens each, beside a model in 80 GB. */
    @Test
    void rowsByRankFitBesideAModel() {
        EpShape large = EpShape.builder(7168, 256, 8).maxTokens(4096).build();
        BufferSize size = EpRuntime.installed().bufferSize(large, 64, 0);
        long byExpert = size.parts().getOrDefault(BufferPart.BY_EXPERT, 0L);
        assertThat(byExpert).isGreaterThan(30_000_000_000L);
        assertThat(size.symmetric() + size.local() - byExpert).isLessThan(8_000_000_000L);
    }
}
