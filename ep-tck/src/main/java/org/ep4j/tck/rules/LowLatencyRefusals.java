package org.ep4j.tck.rules;

import static org.ep4j.tck.rules.Refusal.Table.HIDDEN;
import static org.ep4j.tck.rules.Refusal.Table.MOST;
import static org.ep4j.tck.rules.Refusal.Table.TOKENS;
import static org.ep4j.tck.rules.Refusal.Table.TOPK;

import java.util.Arrays;
import java.util.List;
import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;

/** Wrong arguments of low-latency operations. */
final class LowLatencyRefusals {
    private LowLatencyRefusals() {}

    static List<Refusal> dispatches() {
        return List.of(
                wrong(
                        "ll-hidden",
                        "rows of another hidden size",
                        "x",
                        t -> t.send(LowLatencyDispatchRequest.builder(t.bf16(TOKENS, HIDDEN / 2), t.ids()))),
                wrong(
                        "ll-type",
                        "rows of FP8",
                        "x",
                        t -> t.send(
                                LowLatencyDispatchRequest.builder(t.of(DataType.FP8_E4M3, TOKENS, HIDDEN), t.ids()))),
                wrong(
                        "ll-alignment",
                        "rows that begin at an odd element",
                        "x",
                        t -> t.send(
                                LowLatencyDispatchRequest.builder(t.shifted(DataType.BF16, TOKENS, HIDDEN), t.ids()))),
                wrong(
                        "ll-tokens",
                        "more tokens than the shape allows",
                        Integer.toString(MOST),
                        t -> t.send(LowLatencyDispatchRequest.builder(
                                t.bf16(MOST + 1, HIDDEN), t.of(DataType.INT32, MOST + 1, TOPK)))),
                wrong(
                        "ll-ids-k",
                        "ids for another top-k",
                        "topkIds",
                        t -> t.send(LowLatencyDispatchRequest.builder(t.x(), t.of(DataType.INT32, TOKENS, TOPK - 1)))),
                wrong("ll-ids-range", "an expert id that is too large", "topkIds[0][1]", t -> {
                    int[] ids = new int[TOKENS * TOPK];
                    ids[1] = t.buffer.shape().experts();
                    t.send(LowLatencyDispatchRequest.builder(t.x(), t.arena.ints(ids, TOKENS, TOPK)));
                }),
                wrong(
                        "ll-weights",
                        "weights of another shape",
                        "topkWeights",
                        t -> t.send(t.pack().topkWeights(t.of(DataType.FP32, TOKENS)))),
                wrong(
                        "ll-out",
                        "an output of another shape",
                        "out",
                        t -> t.send(t.pack().out(t.bf16(t.local(), t.slots() - 1, HIDDEN)))),
                wrong(
                        "ll-out-type",
                        "a BF16 output for FP8 rows",
                        "out",
                        t -> t.send(t.pack().format(WireFormat.FP8).out(t.bf16(t.local(), t.slots(), HIDDEN)))),
                wrong(
                        "ll-out-scales",
                        "FP32 scales for UE8M0",
                        "outScales",
                        t -> t.send(t.pack()
                                .format(WireFormat.FP8_UE8M0)
                                .outScales(t.of(DataType.FP32, t.local(), t.slots(), 1)))),
                wrong(
                        "ll-stats",
                        "statistics of another shape",
                        "expertStats",
                        t -> t.send(t.pack().expertStats(t.of(DataType.INT32, t.local() + 1)))),
                wrong(
                        "ll-wait-stats",
                        "waiting statistics of another type",
                        "waitStats",
                        t -> t.send(t.pack().waitStats(t.of(DataType.INT32, t.context.size())))),
                wrong(
                        "ll-hook-async",
                        "a dispatch that asks for the hook and for asynchronous execution",
                        "receiveHook",
                        t -> t.buffer
                                .withOptions(OpOptions.DEFAULT.asynchronous())
                                .lowLatencyDispatch(t.pack().receiveHook().build())),
                wrong(
                        "ll-x-symmetric",
                        "rows in memory that other ranks write to",
                        "symmetric",
                        t -> t.send(LowLatencyDispatchRequest.builder(t.symmetric(t.buffer), t.ids()))),
                wrong("ll-out-x", "an output that overlaps the rows that are sent", "overlapping x", t -> {
                    Tensor out = t.bf16(t.local(), t.slots(), HIDDEN);
                    Tensor x = Tensor.of(out.memory(), DataType.BF16, TOKENS, HIDDEN);
                    t.send(LowLatencyDispatchRequest.builder(x, t.ids()).out(out));
                }),
                wrong(
                        "ll-stats-weights",
                        "waiting statistics that overlap the weights",
                        "overlapping topkWeights",
                        t -> {
                            Tensor stats = t.of(DataType.INT64, t.context.size() + TOKENS * TOPK);
                            t.send(t.pack()
                                    .topkWeights(Tensor.of(stats.memory(), DataType.FP32, TOKENS, TOPK))
                                    .waitStats(Tensor.of(stats.memory(), DataType.INT64, t.context.size())));
                        }),
                closed(
                        "ll-x-closed",
                        "rows in memory that is closed",
                        t -> t.send(
                                LowLatencyDispatchRequest.builder(t.closed(DataType.BF16, TOKENS, HIDDEN), t.ids()))));
    }

    static List<Refusal> combines() {
        return List.of(
                wrong(
                        "ll-combine-shape",
                        "expert outputs of another shape",
                        "x",
                        t -> t.send(LowLatencyCombineRequest.builder(
                                        t.bf16(t.local(), t.slots() + 1, HIDDEN), t.lowLatencyHandle)
                                .topkWeights(t.weights()))),
                wrong(
                        "ll-combine-type",
                        "expert outputs of FP32",
                        "x",
                        t -> t.send(LowLatencyCombineRequest.builder(
                                        t.of(DataType.FP32, t.local(), t.slots(), HIDDEN), t.lowLatencyHandle)
                                .topkWeights(t.weights()))),
                wrong(
                        "ll-combine-no-weights",
                        "no weights at all",
                        "topkWeights",
                        t -> t.send(LowLatencyCombineRequest.builder(
                                t.bf16(t.local(), t.slots(), HIDDEN), t.lowLatencyHandle))),
                wrong(
                        "ll-combine-partial",
                        "a combine with rank-partial sums after a dispatch without weights",
                        "topkWeights",
                        t -> t.send(t.unpack().precision(CombinePrecision.RANK_PARTIAL))),
                wrong(
                        "ll-combine-weights",
                        "combine weights of another shape",
                        "topkWeights",
                        t -> t.send(t.unpack().topkWeights(t.of(DataType.FP32, TOKENS + 1, TOPK)))),
                wrong(
                        "ll-combine-out",
                        "an output for another number of tokens",
                        "out",
                        t -> t.send(t.unpack().out(t.bf16(TOKENS + 1, HIDDEN)))),
                new Refusal(
                        "ll-combine-foreign",
                        "low latency: a handle of another buffer",
                        EpStateException.class,
                        "buffer",
                        t -> t.other.lowLatencyCombine(t.unpack().build())),
                wrong(
                        "ll-combine-out-symmetric",
                        "an output of combine in memory that other ranks write to",
                        "symmetric",
                        t -> t.send(t.unpack().out(t.symmetric(t.buffer)))),
                wrong("ll-combine-out-x", "an output that overlaps the expert outputs", "overlapping x", t -> {
                    Tensor x = t.bf16(t.local(), t.slots(), HIDDEN);
                    t.send(LowLatencyCombineRequest.builder(x, t.lowLatencyHandle)
                            .topkWeights(t.weights())
                            .out(Tensor.of(x.memory(), DataType.BF16, TOKENS, HIDDEN)));
                }),
                closed(
                        "ll-combine-x-closed",
                        "expert outputs in memory that is closed",
                        t -> t.send(LowLatencyCombineRequest.builder(
                                        t.closed(DataType.BF16, t.local(), t.slots(), HIDDEN), t.lowLatencyHandle)
                                .topkWeights(t.weights()))),
                closed("ll-combine-handle-closed", "expert outputs for a handle that is closed", t -> {
                    // No token names an expert twice: an expert has no room for duplicates.
                    int[] ids = new int[TOKENS * TOPK];
                    Arrays.setAll(ids, i -> i % TOPK);
                    LowLatencyHandle old = t.buffer
                            .lowLatencyDispatch(
                                    LowLatencyDispatchRequest.builder(t.x(), t.arena.ints(ids, TOKENS, TOPK))
                                            .build())
                            .handle();
                    old.close();
                    t.send(LowLatencyCombineRequest.builder(t.bf16(t.local(), t.slots(), HIDDEN), old)
                            .topkWeights(t.weights()));
                }));
    }

    private static Refusal closed(String name, String text, Refusal.Action action) {
        return new Refusal(name, "low latency: " + text, EpStateException.class, "closed", action);
    }

    private static Refusal wrong(String name, String text, String mention, Refusal.Action action) {
        return Refusal.wrong(name, "low latency: " + text, mention, action);
    }
}
