package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchOutputs;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.layout.BufferLayout;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tensors of a request that lie where peers or the operation itself write: each is refused by name before anything is sent, and the
 * next operation is right. What may be read in place is.
 */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class BufferMemoryOverlapTest {
    private static final int TOKENS = 6;
    private static final int HIDDEN = 64;
    private static final int TOPK = 2;
    private static final int EXPERTS = 4;
    private static final int RANKS = 2;
    private static final int SLOTS = RANKS * TOKENS;
    private static final int LOCAL = EXPERTS / RANKS;
    private static final EpShape SHAPE = EpShape.builder(HIDDEN, EXPERTS, TOPK)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();
    /** Every token goes to both ranks. */
    private static final int[] IDS = {0, 2, 1, 3, 0, 3, 1, 2, 0, 2, 3, 1};

    private ThreadRanks ranks;

    @BeforeAll
    void join() {
        ranks = new ThreadRanks(RANKS, SHAPE, Duration.ofSeconds(10));
    }

    @AfterAll
    void leave() {
        ranks.close();
    }

    /** What the cases of one rank need. */
    private static final class Bench {
        private final ThreadRanks.Rank rank;
        private final DispatchResult byRank;
        private final DispatchHandle byExpertHandle;
        private final DispatchHandle handle;
        private final LowLatencyDispatchResult packed;
        private final LowLatencyHandle packedHandle;
        private final Tensor combined;

        Bench(ThreadRanks.Rank rank) {
            this.rank = rank;
            byExpertHandle = rank.buffer()
                    .dispatch(DispatchRequest.of(x(), ids())
                            .layout(RowLayout.BY_EXPERT)
                            .build())
                    .handle();
            byRank = rank.buffer()
                    .dispatch(DispatchRequest.of(x(), ids())
                            .topkWeights(weights())
                            .build());
            handle = byRank.handle();
            combined = rank.buffer()
                    .combine(CombineRequest.of(byRank.x(), handle).build())
                    .out();
            packed = rank.buffer()
                    .dispatch(LowLatencyDispatchRequest.of(x(), ids())
                            .topkWeights(weights())
                            .build());
            packedHandle = packed.handle();
        }

        Tensor x() {
            return rank.rows(TOKENS, t -> 1f + t);
        }

        Tensor ids() {
            return rank.ints(IDS, TOKENS, TOPK);
        }

        Tensor weights() {
            return rank.floats(new float[] {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, TOKENS, TOPK);
        }

        Tensor experts() {
            return rank.tensor(DataType.BF16, LOCAL, SLOTS, HIDDEN);
        }

        /** Memory of the dispatched rows, of combineInput(), and of what follows it in symmetric memory. */
        DeviceMemory rows() {
            return byRank.x().memory();
        }

        DeviceMemory input() {
            return rank.buffer().combineInput().memory();
        }

        DeviceMemory symmetric(long offset) {
            return rank.symmetric().slice(offset, rank.symmetric().byteSize() - offset);
        }

        DeviceMemory combineWeights() {
            return symmetric(new BufferLayout(SHAPE, RANKS).combineWeights(0));
        }

        DeviceMemory messages() {
            return symmetric(new BufferLayout(SHAPE, RANKS).message(0, 0, 0));
        }

        static Tensor on(DeviceMemory memory, DataType type, long... dims) {
            return Tensor.of(memory, type, dims);
        }

        DispatchRequest.Builder dispatch() {
            return DispatchRequest.of(x(), ids());
        }

        CombineRequest.Builder combine() {
            return CombineRequest.of(rank.rows(SLOTS, t -> 1f), handle);
        }

        LowLatencyDispatchRequest.Builder pack() {
            return LowLatencyDispatchRequest.of(x(), ids());
        }

        LowLatencyCombineRequest.Builder unpack() {
            return LowLatencyCombineRequest.of(experts(), packedHandle).topkWeights(weights());
        }

        void send(DispatchRequest.Builder request) {
            rank.buffer().dispatch(request.build());
        }

        void send(CombineRequest.Builder request) {
            rank.buffer().combine(request.build());
        }

        void send(LowLatencyDispatchRequest.Builder request) {
            rank.buffer().dispatch(request.build());
        }

        void send(LowLatencyCombineRequest.Builder request) {
            rank.buffer().combine(request.build());
        }
    }

    /** A request with an overlap. */
    interface Attempt {
        void send(Bench bench);
    }

    /**
     * A request that is refused.
     *
     * @param name what overlaps what
     * @param tensor that the error names
     * @param place that the error names
     */
    record Overlap(String name, String tensor, String place, Attempt attempt) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static final String ROWS = "the dispatched rows of this buffer";
    private static final String INPUT = "the memory of combineInput()";
    private static final String SYMMETRIC = "the symmetric memory of this buffer";
    private static final String PEER = "memory by which peers exchange";
    private static final String DISPATCHED = "the results of a dispatch of this buffer";
    private static final String COMBINED = "the results of a combine of this buffer";
    private static final String PACKED = "the results of a low-latency dispatch of this buffer";
    private static final String UNPACKED = "the results of a low-latency combine of this buffer";

    static Stream<Overlap> overlaps() {
        return Stream.of(dispatches(), combines(), packs(), unpacks()).flatMap(List::stream);
    }

    private static List<Overlap> dispatches() {
        return List.of(
                new Overlap(
                        "dispatch x in dispatched rows",
                        "x",
                        ROWS,
                        b -> b.send(DispatchRequest.of(Bench.on(b.rows(), DataType.BF16, TOKENS, HIDDEN), b.ids()))),
                new Overlap(
                        "dispatch x in combineInput()",
                        "x",
                        INPUT,
                        b -> b.send(DispatchRequest.of(Bench.on(b.input(), DataType.BF16, TOKENS, HIDDEN), b.ids()))),
                new Overlap(
                        "dispatch x in memory of a peer",
                        "x",
                        PEER,
                        b -> b.send(
                                DispatchRequest.of(Bench.on(peerInput(b), DataType.BF16, TOKENS, HIDDEN), b.ids()))),
                new Overlap(
                        "dispatch ids in symmetric memory",
                        "topkIds",
                        SYMMETRIC,
                        b -> b.send(DispatchRequest.of(b.x(), Bench.on(b.messages(), DataType.INT32, TOKENS, TOPK)))),
                new Overlap(
                        "dispatch weights in combineInput()",
                        "topkWeights",
                        INPUT,
                        b -> b.send(b.dispatch().topkWeights(Bench.on(b.input(), DataType.FP32, TOKENS, TOPK)))),
                new Overlap(
                        "dispatch scales in dispatched rows",
                        "scales",
                        ROWS,
                        b -> b.send(DispatchRequest.of(b.rank.tensor(DataType.FP8_E4M3, TOKENS, HIDDEN), b.ids())
                                .scales(Bench.on(b.rows(), DataType.FP32, TOKENS, 1)))),
                new Overlap(
                        "dispatch out over dispatched rows",
                        "out",
                        ROWS,
                        b -> b.send(b.dispatch().out(Bench.on(b.rows(), DataType.BF16, SLOTS, HIDDEN)))),
                new Overlap(
                        "dispatch out over combineInput()",
                        "out",
                        INPUT,
                        b -> b.send(b.dispatch().out(Bench.on(b.input(), DataType.BF16, SLOTS, HIDDEN)))),
                new Overlap(
                        "dispatch scales out in combineInput()",
                        "outputs.scales",
                        INPUT,
                        b -> b.send(DispatchRequest.of(b.rank.tensor(DataType.FP8_E4M3, TOKENS, HIDDEN), b.ids())
                                .scales(b.rank.tensor(DataType.FP32, TOKENS, 1))
                                .outputs(DispatchOutputs.builder()
                                        .scales(Bench.on(b.input(), DataType.FP32, SLOTS, 1))
                                        .build()))),
                new Overlap(
                        "dispatch source tokens out in symmetric memory",
                        "outputs.sourceTokens",
                        SYMMETRIC,
                        b -> b.send(b.dispatch()
                                .outputs(DispatchOutputs.builder()
                                        .sourceTokens(Bench.on(b.messages(), DataType.INT32, SLOTS))
                                        .build()))),
                new Overlap("dispatch counts out over x", "outputs.rowsPerExpert", "x", b -> {
                    Tensor x = b.x();
                    b.send(DispatchRequest.of(x, b.ids())
                            .outputs(DispatchOutputs.builder()
                                    .rowsPerExpert(Bench.on(x.memory(), DataType.INT32, LOCAL))
                                    .build()));
                }),
                new Overlap(
                        "dispatch waitStats in dispatched rows",
                        "waitStats",
                        ROWS,
                        b -> b.send(b.dispatch().waitStats(Bench.on(b.rows(), DataType.INT64, RANKS)))),
                new Overlap(
                        "combine outWeights in symmetric memory",
                        "outWeights",
                        SYMMETRIC,
                        b -> b.send(b.combine()
                                .weights(b.rank.tensor(DataType.FP32, SLOTS, TOPK))
                                .outWeights(Bench.on(b.messages(), DataType.FP32, TOKENS, TOPK)))),
                new Overlap(
                        "dispatch ids in its own results",
                        "topkIds",
                        DISPATCHED,
                        b -> b.send(DispatchRequest.of(
                                b.x(),
                                Bench.on(b.byRank.topkIds().orElseThrow().memory(), DataType.INT32, TOKENS, TOPK)))),
                new Overlap("dispatch out over x", "out", "x", b -> {
                    Tensor both = b.rank.tensor(DataType.BF16, TOKENS + SLOTS - 1, HIDDEN);
                    DeviceMemory out = both.memory().slice(2L * (TOKENS - 1) * HIDDEN, 2L * SLOTS * HIDDEN);
                    b.send(DispatchRequest.of(Bench.on(both.memory(), DataType.BF16, TOKENS, HIDDEN), b.ids())
                            .out(Bench.on(out, DataType.BF16, SLOTS, HIDDEN)));
                }),
                new Overlap("dispatch out over ids", "out", "topkIds", b -> {
                    Tensor out = b.rank.tensor(DataType.BF16, SLOTS, HIDDEN);
                    b.send(DispatchRequest.of(b.x(), Bench.on(out.memory(), DataType.INT32, TOKENS, TOPK))
                            .out(out));
                }),
                new Overlap("dispatch out over weights", "out", "topkWeights", b -> {
                    Tensor out = b.rank.tensor(DataType.BF16, SLOTS, HIDDEN);
                    b.send(b.dispatch()
                            .topkWeights(Bench.on(out.memory().slice(64, 64), DataType.FP32, TOKENS, TOPK))
                            .out(out));
                }));
    }

    private static DeviceMemory peerInput(Bench bench) {
        return bench.rank
                .peers()
                .get(1 - bench.rank.number())
                .buffer()
                .combineInput()
                .memory();
    }

    private static List<Overlap> combines() {
        return List.of(
                new Overlap(
                        "combine x that begins before combineInput()",
                        "x",
                        INPUT,
                        b -> b.send(CombineRequest.of(
                                Bench.on(
                                        b.symmetric(new BufferLayout(SHAPE, RANKS).combineArea() - 16),
                                        DataType.BF16,
                                        SLOTS,
                                        HIDDEN),
                                b.handle))),
                new Overlap(
                        "combine x behind combineInput()",
                        "x",
                        SYMMETRIC,
                        b -> b.send(CombineRequest.of(Bench.on(b.messages(), DataType.BF16, SLOTS, HIDDEN), b.handle))),
                new Overlap(
                        "combine x in memory of a peer",
                        "x",
                        PEER,
                        b -> b.send(CombineRequest.of(Bench.on(peerInput(b), DataType.BF16, SLOTS, HIDDEN), b.handle))),
                new Overlap(
                        "by-expert combine x in combineInput()",
                        "x",
                        "combineInput()",
                        b -> b.send(CombineRequest.of(
                                Bench.on(b.input(), DataType.BF16, SLOTS, HIDDEN), b.byExpertHandle))),
                new Overlap(
                        "combine weights in symmetric memory",
                        "weights",
                        SYMMETRIC,
                        b -> b.send(b.combine().weights(Bench.on(b.combineWeights(), DataType.FP32, SLOTS, TOPK)))),
                new Overlap(
                        "combine bias in dispatched rows",
                        "bias",
                        ROWS,
                        b -> b.send(b.combine().bias(Bench.on(b.rows(), DataType.BF16, TOKENS, HIDDEN)))),
                new Overlap(
                        "combine out over dispatched rows",
                        "out",
                        ROWS,
                        b -> b.send(CombineRequest.of(b.byRank.x(), b.handle)
                                .out(Bench.on(b.rows(), DataType.BF16, TOKENS, HIDDEN)))),
                new Overlap(
                        "combine out over combineInput()",
                        "out",
                        INPUT,
                        b -> b.send(b.combine().out(Bench.on(b.input(), DataType.BF16, TOKENS, HIDDEN)))),
                new Overlap(
                        "combine bias in its own result",
                        "bias",
                        COMBINED,
                        b -> b.send(b.combine().bias(b.combined))),
                new Overlap("combine out over x", "out", "x", b -> {
                    Tensor x = b.rank.tensor(DataType.BF16, SLOTS, HIDDEN);
                    b.send(CombineRequest.of(x, b.handle).out(Bench.on(x.memory(), DataType.BF16, TOKENS, HIDDEN)));
                }),
                new Overlap("combine out over a bias", "out", "bias", b -> {
                    Tensor bias = b.x();
                    b.send(b.combine().bias(b.x()).bias(bias).out(bias));
                }),
                new Overlap("combine out over weights", "out", "weights", b -> {
                    Tensor out = b.rank.tensor(DataType.BF16, TOKENS, HIDDEN);
                    b.send(b.combine()
                            .weights(Bench.on(out.memory(), DataType.FP32, SLOTS, TOPK))
                            .out(out));
                }));
    }

    private static List<Overlap> packs() {
        return List.of(
                new Overlap(
                        "low-latency dispatch x in combineInput()",
                        "x",
                        INPUT,
                        b -> b.send(LowLatencyDispatchRequest.of(
                                Bench.on(b.input(), DataType.BF16, TOKENS, HIDDEN), b.ids()))),
                new Overlap(
                        "low-latency dispatch ids in symmetric memory",
                        "topkIds",
                        SYMMETRIC,
                        b -> b.send(LowLatencyDispatchRequest.of(
                                b.x(), Bench.on(b.messages(), DataType.INT32, TOKENS, TOPK)))),
                new Overlap(
                        "low-latency dispatch weights in symmetric memory",
                        "topkWeights",
                        SYMMETRIC,
                        b -> b.send(b.pack().topkWeights(Bench.on(b.messages(), DataType.FP32, TOKENS, TOPK)))),
                new Overlap(
                        "low-latency dispatch out over dispatched rows",
                        "out",
                        ROWS,
                        b -> b.send(b.pack()
                                .out(Bench.on(
                                        b.symmetric(new BufferLayout(SHAPE, RANKS).rows()),
                                        DataType.BF16,
                                        LOCAL,
                                        SLOTS,
                                        HIDDEN)))),
                new Overlap(
                        "low-latency dispatch outScales in symmetric memory",
                        "outScales",
                        SYMMETRIC,
                        b -> b.send(b.pack()
                                .format(WireFormat.FP8)
                                .outScales(Bench.on(b.messages(), DataType.FP32, LOCAL, SLOTS, 1)))),
                new Overlap(
                        "low-latency dispatch outCounts in symmetric memory",
                        "outCounts",
                        SYMMETRIC,
                        b -> b.send(b.pack().outCounts(Bench.on(b.messages(), DataType.INT32, LOCAL)))),
                new Overlap("low-latency dispatch outSourceTokens over out", "outSourceTokens", "out", b -> {
                    Tensor out = b.experts();
                    b.send(b.pack().out(out).outSourceTokens(Bench.on(out.memory(), DataType.INT32, LOCAL, SLOTS)));
                }),
                new Overlap(
                        "low-latency dispatch outLayoutRanges in its results",
                        "outLayoutRanges",
                        PACKED,
                        b -> b.send(b.pack()
                                .outLayoutRanges(
                                        Bench.on(b.packed.layoutRanges().memory(), DataType.INT64, LOCAL, RANKS)))),
                new Overlap(
                        "low-latency dispatch statistics in symmetric memory",
                        "cumulativeStats",
                        SYMMETRIC,
                        b -> b.send(b.pack().cumulativeStats(Bench.on(b.messages(), DataType.INT32, LOCAL)))),
                new Overlap(
                        "low-latency dispatch waitStats in its results",
                        "waitStats",
                        PACKED,
                        b -> b.send(b.pack()
                                .waitStats(Bench.on(b.packed.layoutRanges().memory(), DataType.INT64, RANKS)))),
                new Overlap(
                        "low-latency dispatch x in its results",
                        "x",
                        PACKED,
                        b -> b.send(LowLatencyDispatchRequest.of(
                                Bench.on(b.packed.x().memory(), DataType.BF16, TOKENS, HIDDEN), b.ids()))),
                new Overlap("low-latency dispatch out over x", "out", "x", b -> {
                    Tensor out = b.experts();
                    b.send(LowLatencyDispatchRequest.of(Bench.on(out.memory(), DataType.BF16, TOKENS, HIDDEN), b.ids())
                            .out(out));
                }),
                new Overlap("low-latency dispatch outScales over out", "outScales", "out", b -> {
                    Tensor out = b.rank.tensor(DataType.FP8_E4M3, LOCAL, SLOTS, HIDDEN);
                    b.send(b.pack()
                            .format(WireFormat.FP8)
                            .out(out)
                            .outScales(Bench.on(out.memory(), DataType.FP32, LOCAL, SLOTS, 1)));
                }),
                new Overlap("low-latency dispatch waitStats over statistics", "waitStats", "cumulativeStats", b -> {
                    Tensor wait = b.rank.tensor(DataType.INT64, RANKS);
                    b.send(b.pack().waitStats(wait).cumulativeStats(Bench.on(wait.memory(), DataType.INT32, LOCAL)));
                }));
    }

    private static List<Overlap> unpacks() {
        return List.of(
                new Overlap(
                        "low-latency combine x in symmetric memory",
                        "x",
                        ROWS,
                        b -> b.send(LowLatencyCombineRequest.of(
                                Bench.on(
                                        b.symmetric(new BufferLayout(SHAPE, RANKS).rows()),
                                        DataType.BF16,
                                        LOCAL,
                                        SLOTS,
                                        HIDDEN),
                                b.packedHandle))),
                new Overlap(
                        "low-latency combine weights in symmetric memory",
                        "topkWeights",
                        SYMMETRIC,
                        b -> b.send(b.unpack().topkWeights(Bench.on(b.messages(), DataType.FP32, TOKENS, TOPK)))),
                new Overlap(
                        "low-latency combine out over combineInput()",
                        "out",
                        INPUT,
                        b -> b.send(b.unpack().out(Bench.on(b.input(), DataType.BF16, TOKENS, HIDDEN)))),
                new Overlap(
                        "low-latency combine waitStats in symmetric memory",
                        "waitStats",
                        SYMMETRIC,
                        b -> b.send(b.unpack().waitStats(Bench.on(b.messages(), DataType.INT64, RANKS)))),
                new Overlap("low-latency combine weights in its results", "topkWeights", UNPACKED, b -> {
                    Tensor out = b.rank.buffer().combine(b.unpack().build()).out();
                    b.send(b.unpack().topkWeights(Bench.on(out.memory(), DataType.FP32, TOKENS, TOPK)));
                }),
                new Overlap("low-latency combine out over x", "out", "x", b -> {
                    Tensor x = b.rank.buffer().lowLatencyCombineInput();
                    b.send(LowLatencyCombineRequest.of(x, b.packedHandle)
                            .out(Bench.on(x.memory().slice(128, 2L * TOKENS * HIDDEN), DataType.BF16, TOKENS, HIDDEN)));
                }),
                new Overlap("low-latency combine out over weights", "out", "topkWeights", b -> {
                    Tensor out = b.rank.tensor(DataType.BF16, TOKENS, HIDDEN);
                    b.send(b.unpack()
                            .topkWeights(Bench.on(out.memory(), DataType.FP32, TOKENS, TOPK))
                            .out(out));
                }));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("overlaps")
    void overlapIsRefusedByNameBeforeAnythingIsSent(Overlap overlap) {
        ranks.all(rank -> {
            Bench bench = new Bench(rank);
            rank.meet();
            assertThatThrownBy(() -> overlap.attempt().send(bench))
                    .isInstanceOfSatisfying(EpArgumentException.class, e -> {
                        assertThat(e.name()).isEqualTo(overlap.tensor());
                        assertThat(e.value()).contains(overlap.place());
                        assertThat(e.limit()).isNotBlank();
                        assertThat(e.fix()).contains("pass memory of your own");
                    });
            rank.meet();
            exchange(rank);
        });
    }

    /** A whole round of both modes. */
    private static void exchange(ThreadRanks.Rank rank) {
        Bench bench = new Bench(rank);
        List<Float> twice = List.of(2f, 4f, 6f, 8f, 10f, 12f);
        assertThat(rank.values(bench.combined)).isEqualTo(twice);
        assertThat(rank.values(rank.buffer()
                        .combine(LowLatencyCombineRequest.of(bench.packed.x(), bench.packedHandle)
                                .build())
                        .out()))
                .isEqualTo(twice);
    }

    @Test
    void whatIsReadInPlaceStaysLegalAndRight() {
        ranks.all(rank -> {
            List<Float> twice = List.of(2f, 4f, 6f, 8f, 10f, 12f);
            Map<String, List<Float>> sums = new LinkedHashMap<>();
            Bench bench = new Bench(rank);
            // The dispatched rows themselves are what Bench combines.
            sums.put("dispatched rows", rank.values(bench.combined));
            Tensor input = rank.buffer().combineInput();
            rank.view(input).put(rank.view(bench.byRank.x()));
            sums.put("combineInput()", rank.values(combine(rank, input, bench.handle)));
            DeviceMemory later = input.memory().slice(2L * HIDDEN, input.byteSize() - 2L * HIDDEN);
            rank.view(input)
                    .position(2 * HIDDEN)
                    .put(rank.view(bench.byRank.x()).limit((SLOTS - 1) * 2 * HIDDEN));
            assertThatThrownBy(() -> combine(rank, Bench.on(later, DataType.BF16, SLOTS - 1, HIDDEN), bench.handle))
                    .hasMessageContaining("rows");
            // A result of one operation is input of the next one of another kind, and of the next layer.
            Tensor next = rank.buffer()
                    .dispatch(DispatchRequest.of(bench.combined, bench.ids())
                            .layout(RowLayout.BY_EXPERT)
                            .build())
                    .x();
            assertThat(rank.values(next)).isNotEmpty();
            rank.view(rank.buffer().lowLatencyCombineInput()).put(rank.view(bench.packed.x()));
            sums.put(
                    "lowLatencyCombineInput()",
                    rank.values(unpack(rank, rank.buffer().lowLatencyCombineInput(), bench.packedHandle)));
            LowLatencyDispatchResult direct = rank.buffer()
                    .dispatch(bench.pack()
                            .topkWeights(bench.weights())
                            .out(rank.buffer().lowLatencyCombineInput())
                            .build());
            sums.put(
                    "rows dispatched into lowLatencyCombineInput()",
                    rank.values(unpack(rank, direct.x(), direct.handle())));
            sums.forEach((where, values) -> assertThat(values).as(where).isEqualTo(twice));
        });
    }

    private static Tensor combine(ThreadRanks.Rank rank, Tensor x, DispatchHandle handle) {
        return rank.buffer().combine(CombineRequest.of(x, handle).build()).out();
    }

    private static Tensor unpack(ThreadRanks.Rank rank, Tensor x, LowLatencyHandle handle) {
        return rank.buffer()
                .combine(LowLatencyCombineRequest.of(x, handle).build())
                .out();
    }
}
