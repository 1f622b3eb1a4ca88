package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.Stream;
import org.ep4j.BufferSize;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpResourceException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.LocalLayout.Part;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.gpu.driver.EngineGpu;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class LocalMemoryTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE = EpShape.builder(64, 4, 2)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    private static LocalLayout layout(EpShape shape) {
        return new LocalLayout(shape, ShapeSizes.placement(shape, 1), 0);
    }

    private static long sum(LocalLayout layout) {
        return layout.parts().stream().mapToLong(BufferSize.Part::bytes).sum();
    }

    @Test
    void aPartIsTakenOnceAndKept() {
        EmulatedGpu.require();
        LocalLayout layout = layout(SHAPE);
        try (EngineGpu device = EmulatedGpu.open(0)) {
            LocalMemory memory = new LocalMemory(device, layout);
            assertThat(memory.takenBytes()).isZero();
            DeviceMemory rows = memory.of(Part.EXPANDED);
            assertThat(memory.of(Part.EXPANDED)).isEqualTo(rows);
            assertThat(memory.takenBytes()).isEqualTo(layout.bytes(Part.EXPANDED));
            memory.takeAll();
            assertThat(memory.of(Part.EXPANDED)).isEqualTo(rows);
            assertThat(memory.takenBytes()).isEqualTo(sum(layout));
            memory.close();
        }
    }

    @Test
    void aClosedBufferTakesNoMemory() {
        EmulatedGpu.require();
        try (EngineGpu device = EmulatedGpu.open(0)) {
            LocalMemory memory = new LocalMemory(device, layout(SHAPE));
            memory.close();
            assertThatThrownBy(() -> memory.take(Part.RECORDS)).isInstanceOf(EpStateException.class);
        }
    }

    @Test
    void shortMemoryIsNamedAndTheOtherPartsCanBeTaken() {
        EmulatedGpu.require();
        // Padding alone takes 41 GB.
        EpShape large = EpShape.builder(8192, 20_000, 1).maxTokens(1).build();
        try (EngineGpu device = EmulatedGpu.open(0)) {
            LocalMemory memory = new LocalMemory(device, layout(large));
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> memory.take(Part.EXPANDED))
                        .isInstanceOf(EpResourceException.class)
                        .hasMessageContaining("rows by expert")
                        .hasMessageContaining(layout(large).bytes(Part.EXPANDED) + " bytes")
                        .hasMessageContaining("bytes free")
                        .hasMessageContaining("pass out()");
            }
            memory.take(Part.RECORDS);
            assertThat(memory.takenBytes()).isEqualTo(layout(large).bytes(Part.RECORDS));
            memory.close();
        }
    }

    private static DispatchRequest.Builder request(Rank rank) {
        byte[] rows = new byte[TOKENS * SHAPE.hidden() * 2];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = (byte) (i % 61 + rank.number());
        }
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = i % SHAPE.experts();
        }
        return DispatchRequest.builder(
                rank.tensor(DataType.BF16, rows, TOKENS, SHAPE.hidden()), rank.ints(ids, TOKENS, SHAPE.topK()));
    }

    private static void requireTaken(Rank rank, Part... parts) {
        LocalLayout layout = new LocalLayout(SHAPE, rank.buffer().placement(), rank.number());
        long bytes = Stream.of(parts).mapToLong(layout::bytes).sum();
        GpuBufferFacts.of(rank.buffer())
                .ifPresent(facts -> assertThat(facts.localBytesTaken()).isEqualTo(bytes));
    }

    @Test
    void onlyMemoryThatIsUsedIsTaken() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                requireTaken(rank);
                DispatchRequest byRank = request(rank).build();
                DispatchResult received = rank.buffer().dispatch(byRank);
                rank.keep("by rank", received, byRank);
                rank.keep(
                        "given sums",
                        rank.buffer()
                                .combine(CombineRequest.builder(received.x(), received.handle())
                                        .out(rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden()))
                                        .build())
                                .out());
                requireTaken(rank, Part.RECORDS);
                rank.keep(
                        "sums",
                        rank.buffer()
                                .combine(CombineRequest.builder(received.x(), received.handle())
                                        .build())
                                .out());
                requireTaken(rank, Part.RECORDS, Part.COMBINED);
                long most = rank.buffer().maxRows(RowLayout.BY_EXPERT, 1);
                DispatchRequest given = request(rank)
                        .layout(RowLayout.BY_EXPERT)
                        .out(rank.tensor(DataType.BF16, new byte[0], most, SHAPE.hidden()))
                        .build();
                rank.keep("given", rank.buffer().dispatch(given), given);
                requireTaken(rank, Part.RECORDS, Part.COMBINED);
                DispatchRequest byExpert =
                        request(rank).layout(RowLayout.BY_EXPERT).build();
                rank.keep("by expert", rank.buffer().dispatch(byExpert), byExpert);
                requireTaken(rank, Part.RECORDS, Part.COMBINED, Part.EXPANDED);
                DispatchRequest first = request(rank).build();
                rank.keep(
                        "low latency",
                        rank.buffer()
                                .lowLatencyDispatch(LowLatencyDispatchRequest.builder(
                                                first.x(), first.topkIds().orElseThrow())
                                        .build())
                                .rowsPerExpert());
                requireTaken(rank, Part.RECORDS, Part.COMBINED, Part.EXPANDED, Part.LL_RECORDS, Part.LL_ROWS);
                rank.buffer().nextLowLatencyCombineInput();
                requireTaken(
                        rank,
                        Part.RECORDS,
                        Part.COMBINED,
                        Part.EXPANDED,
                        Part.LL_RECORDS,
                        Part.LL_ROWS,
                        Part.LL_COMBINE_INPUT);
            });
        }
    }

    /** Returns a request that gives tensors for all that its result has. */
    private static DispatchRequest giving(Rank rank, RowLayout layout) {
        boolean byExpert = layout == RowLayout.BY_EXPERT;
        long rows = rank.buffer().maxRows(layout, 1);
        int experts = rank.buffer().placement().localExperts(rank.number());
        DispatchRequest.Builder request = DispatchRequest.builder(
                        rank.tensor(DataType.FP8_E4M3, new byte[0], TOKENS, SHAPE.hidden()),
                        request(rank).build().topkIds().orElseThrow())
                .layout(layout)
                .scales(rank.tensor(DataType.FP32, new byte[0], TOKENS, SHAPE.scales()))
                .topkWeights(rank.tensor(DataType.FP32, new byte[0], TOKENS, SHAPE.topK()))
                .out(rank.tensor(DataType.FP8_E4M3, new byte[0], rows, SHAPE.hidden()))
                .outScales(rank.tensor(DataType.FP32, new byte[0], rows, SHAPE.scales()))
                .outTopkWeights(
                        byExpert
                                ? rank.tensor(DataType.FP32, new byte[0], rows)
                                : rank.tensor(DataType.FP32, new byte[0], rows, SHAPE.topK()))
                .outSourceRanks(rank.tensor(DataType.INT32, new byte[0], rows))
                .outSourceTokens(rank.tensor(DataType.INT32, new byte[0], rows))
                .outRowsPerSource(
                        rank.tensor(DataType.INT32, new byte[0], rank.group().size()))
                .outRowsPerExpert(rank.tensor(DataType.INT32, new byte[0], experts))
                .outExpertOffsets(rank.tensor(DataType.INT64, new byte[0], experts + 1L));
        return byExpert
                ? request.build()
                : request.outTopkIds(rank.tensor(DataType.INT32, new byte[0], rows, SHAPE.topK()))
                        .build();
    }

    private static LowLatencyDispatchRequest givingInLowLatency(Rank rank) {
        DispatchRequest same = request(rank).build();
        int experts = rank.buffer().placement().localExperts(rank.number());
        long rows = rank.buffer().maxLowLatencyRows();
        return LowLatencyDispatchRequest.builder(same.x(), same.topkIds().orElseThrow())
                .format(WireFormat.FP8)
                .out(rank.tensor(DataType.FP8_E4M3, new byte[0], experts, rows, SHAPE.hidden()))
                .outScales(rank.tensor(DataType.FP32, new byte[0], experts, rows, SHAPE.scales()))
                .outRowsPerExpert(rank.tensor(DataType.INT32, new byte[0], experts))
                .outSourceTokens(rank.tensor(DataType.INT32, new byte[0], experts, rows))
                .outLayoutRanges(rank.tensor(
                        DataType.INT64, new byte[0], experts, rank.group().size()))
                .build();
    }

    @Test
    void noMemoryIsTakenForWhatTheCallerGives() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                for (RowLayout layout : RowLayout.values()) {
                    DispatchRequest all = giving(rank, layout);
                    DispatchResult received = rank.buffer().dispatch(all);
                    rank.keep("dispatch " + layout, received, all);
                    Tensor x = rank.tensor(DataType.BF16, new byte[0], received.rows(), SHAPE.hidden());
                    Tensor weights = received.topkWeights().orElseThrow();
                    CombineRequest combine = CombineRequest.builder(x, received.handle())
                            .weights(weights)
                            .out(rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden()))
                            .outWeights(rank.tensor(DataType.FP32, new byte[0], TOKENS, SHAPE.topK()))
                            .build();
                    rank.keep(
                            "weights " + layout,
                            rank.buffer().combine(combine).weights().orElseThrow());
                }
                rank.keep(
                        "low latency",
                        rank.buffer()
                                .lowLatencyDispatch(givingInLowLatency(rank))
                                .rowsPerExpert());
                requireTaken(rank);
            });
        }
    }

    @Test
    void weightsThatComeBackMayBeTheFirstResultInTheBuffer() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                DispatchResult received = rank.buffer().dispatch(giving(rank, RowLayout.BY_RANK));
                Tensor x = rank.tensor(DataType.BF16, new byte[0], received.rows(), SHAPE.hidden());
                CombineRequest combine = CombineRequest.builder(x, received.handle())
                        .weights(received.topkWeights().orElseThrow())
                        .out(rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden()))
                        .build();
                rank.keep("weights", rank.buffer().combine(combine).weights().orElseThrow());
                requireTaken(rank, Part.RECORDS);
            });
        }
    }

    @Test
    void aPreallocatedBufferTakesAllWhenItIsCreated() {
        try (GpuAgainstHost both =
                new GpuAgainstHost(SHAPE.toBuilder().preallocate().build(), 2)) {
            both.check(rank -> {
                GpuBufferFacts.of(rank.buffer())
                        .ifPresent(facts -> assertThat(facts.localBytesTaken())
                                .isEqualTo(rank.buffer().size().localBytes()));
                DispatchRequest byExpert =
                        request(rank).layout(RowLayout.BY_EXPERT).build();
                rank.keep("by expert", rank.buffer().dispatch(byExpert), byExpert);
            });
        }
    }
}
