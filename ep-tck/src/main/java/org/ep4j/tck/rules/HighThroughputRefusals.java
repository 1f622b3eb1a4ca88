package org.ep4j.tck.rules;

import static org.ep4j.tck.rules.Refusal.Table.HIDDEN;
import static org.ep4j.tck.rules.Refusal.Table.MOST;
import static org.ep4j.tck.rules.Refusal.Table.TOKENS;
import static org.ep4j.tck.rules.Refusal.Table.TOPK;
import static org.ep4j.tck.rules.Refusal.wrong;

import java.util.List;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.EpBuffer;
import org.ep4j.EpStateException;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;

/** Wrong arguments of high-throughput operations. */
final class HighThroughputRefusals {
    private HighThroughputRefusals() {}

    /** Refusals of dispatches and of {@code dispatchLayout()}. */
    static List<Refusal> dispatches() {
        return List.of(
                wrong(
                        "x-hidden",
                        "rows of another hidden size",
                        "x",
                        t -> t.send(DispatchRequest.builder(t.bf16(TOKENS, HIDDEN * 2), t.ids()))),
                wrong(
                        "x-dims",
                        "rows with three dimensions",
                        "x",
                        t -> t.send(DispatchRequest.builder(t.bf16(TOKENS, HIDDEN, 1), t.ids()))),
                wrong(
                        "x-type",
                        "rows of FP32",
                        "x",
                        t -> t.send(DispatchRequest.builder(t.of(DataType.FP32, TOKENS, HIDDEN), t.ids()))),
                wrong(
                        "x-alignment",
                        "rows that begin at an odd element",
                        "x",
                        t -> t.send(DispatchRequest.builder(t.shifted(DataType.BF16, TOKENS, HIDDEN), t.ids()))),
                wrong("x-device", "rows on a device that is not the group's", "x", t -> {
                    Tensor here = t.x();
                    Device elsewhere = new Device("elsewhere", 7);
                    t.send(DispatchRequest.builder(
                            Tensor.at(here.address(), elsewhere, here.type(), TOKENS, HIDDEN), t.ids()));
                }),
                wrong(
                        "x-tokens",
                        "more tokens than the shape allows",
                        Integer.toString(MOST),
                        t -> t.send(DispatchRequest.builder(
                                t.bf16(MOST + 1, HIDDEN), t.of(DataType.INT32, MOST + 1, TOPK)))),
                wrong(
                        "ids-tokens",
                        "ids for another number of tokens",
                        "topkIds",
                        t -> t.send(DispatchRequest.builder(t.x(), t.of(DataType.INT32, TOKENS - 1, TOPK)))),
                wrong(
                        "ids-k",
                        "ids for another top-k",
                        "topkIds",
                        t -> t.send(DispatchRequest.builder(t.x(), t.of(DataType.INT32, TOKENS, TOPK + 1)))),
                wrong(
                        "ids-type",
                        "ids of FP32",
                        "topkIds",
                        t -> t.send(DispatchRequest.builder(t.x(), t.of(DataType.FP32, TOKENS, TOPK)))),
                wrong("ids-high", "an expert id that is too large", "topkIds[1][0]", t -> {
                    int[] ids = new int[TOKENS * TOPK];
                    ids[TOPK] = t.buffer.shape().experts();
                    t.send(DispatchRequest.builder(t.x(), t.arena.ints(ids, TOKENS, TOPK)));
                }),
                wrong("ids-low", "an expert id below -1", "topkIds[0][2]", t -> {
                    int[] ids = new int[TOKENS * TOPK];
                    ids[2] = -2;
                    t.send(DispatchRequest.builder(t.x(), t.arena.ints(ids, TOKENS, TOPK)));
                }),
                wrong("ids-wide", "a 64-bit expert id beyond 32 bits", "topkIds[0][0]", t -> {
                    Tensor ids = t.arena.longs(new int[TOKENS * TOPK], TOKENS, TOPK);
                    var direct = java.nio.ByteBuffer.allocateDirect(8).order(java.nio.ByteOrder.nativeOrder());
                    t.arena.device().upload(direct.putLong(1L << 32).flip(), ids.memory());
                    t.send(DispatchRequest.builder(t.x(), ids));
                }),
                wrong(
                        "weights-shape",
                        "weights for another top-k",
                        "topkWeights",
                        t -> t.send(t.dispatch().topkWeights(t.of(DataType.FP32, TOKENS, TOPK - 1)))),
                wrong(
                        "weights-type",
                        "weights of BF16",
                        "topkWeights",
                        t -> t.send(t.dispatch().topkWeights(t.bf16(TOKENS, TOPK)))),
                wrong(
                        "scales-missing",
                        "FP8 rows without scales",
                        "scales",
                        t -> t.send(DispatchRequest.builder(t.of(DataType.FP8_E4M3, TOKENS, HIDDEN), t.ids()))),
                wrong(
                        "scales-needless",
                        "BF16 rows with scales",
                        "scales",
                        t -> t.send(t.dispatch().scales(t.of(DataType.FP32, TOKENS, 1)))),
                wrong(
                        "scales-shape",
                        "scales for another hidden size",
                        "scales",
                        t -> t.send(DispatchRequest.builder(t.of(DataType.FP8_E4M3, TOKENS, HIDDEN), t.ids())
                                .scales(t.of(DataType.FP32, TOKENS, 5)))),
                wrong(
                        "out-type",
                        "an output of another type",
                        "out",
                        t -> t.send(t.dispatch().out(t.of(DataType.FP8_E4M3, 64, HIDDEN)))),
                wrong(
                        "out-hidden",
                        "an output of another hidden size",
                        "out",
                        t -> t.send(t.dispatch().out(t.bf16(64, HIDDEN / 2)))),
                wrong(
                        "out-worst",
                        "an output with fewer rows than the worst case, in a dispatch of worst-case size",
                        "out",
                        t -> t.send(t.dispatch().worstCase().out(t.bf16(1, HIDDEN)))),
                wrong(
                        "alignment-zero",
                        "an expert alignment of 0",
                        "expertAlignment",
                        t -> t.send(t.dispatch().expertAlignment(0))),
                wrong(
                        "stream",
                        "a native stream on the host",
                        "stream",
                        t -> t.buffer
                                .withOptions(OpOptions.DEFAULT.onStream(5))
                                .dispatch(t.dispatch().build())),
                wrong(
                        "layout-k",
                        "dispatchLayout() of ids for another top-k",
                        "topkIds",
                        t -> t.buffer.dispatchLayout(t.of(DataType.INT32, TOKENS, TOPK + 2))),
                wrong(
                        "layout-range",
                        "dispatchLayout() of an id that is too large",
                        "topkIds[0][0]",
                        t -> t.buffer.dispatchLayout(t.arena.ints(new int[] {9999, 0, 0}, 1, TOPK))),
                wrong(
                        "cached-tokens",
                        "a cached dispatch with fewer rows than the handle has tokens",
                        "x",
                        t -> t.send(DispatchRequest.builder(t.bf16(TOKENS - 1, HIDDEN), t.handle))),
                foreign(
                        "cached-foreign",
                        "a cached dispatch with a handle of another buffer",
                        t -> t.other.dispatch(
                                DispatchRequest.builder(t.x(), t.handle).build())),
                wrong(
                        "x-symmetric",
                        "rows in memory that other ranks write to",
                        "symmetric",
                        t -> t.send(DispatchRequest.builder(t.symmetric(t.buffer), t.ids()))),
                wrong("out-x", "an output that overlaps the rows that are sent", "overlapping x", t -> {
                    Tensor x = t.x();
                    t.send(DispatchRequest.builder(x, t.ids()).out(x));
                }),
                wrong("out-weights", "an output that overlaps the weights", "overlapping topkWeights", t -> {
                    Tensor out = t.bf16(t.worst(), HIDDEN);
                    Tensor weights = Tensor.of(out.memory(), DataType.FP32, TOKENS, TOPK);
                    t.send(t.dispatch().topkWeights(weights).out(out));
                }),
                closed(
                        "x-closed",
                        "rows in memory that is closed",
                        t -> t.send(DispatchRequest.builder(t.closed(DataType.BF16, TOKENS, HIDDEN), t.ids()))),
                closed(
                        "ids-closed",
                        "ids in memory that is closed",
                        t -> t.send(DispatchRequest.builder(t.x(), t.closed(DataType.INT32, TOKENS, TOPK)))),
                closed(
                        "out-closed",
                        "an output in memory that is closed",
                        t -> t.send(t.dispatch().out(t.closed(DataType.BF16, t.worst(), HIDDEN)))),
                closed("buffer-closed", "rows in the memory of a buffer that is closed", t -> {
                    Tensor old;
                    try (EpBuffer gone = t.context.group().createBuffer(t.buffer.shape())) {
                        old = t.symmetric(gone);
                    }
                    t.send(DispatchRequest.builder(old, t.ids()));
                }),
                closed("copy-closed", "a copy to the host from the memory of a buffer that is closed", t -> {
                    Tensor old;
                    try (EpBuffer gone = t.context.group().createBuffer(t.buffer.shape())) {
                        old = t.symmetric(gone);
                    }
                    t.arena.device().download(old.memory(), java.nio.ByteBuffer.allocate(HIDDEN));
                }),
                closed(
                        "layout-closed",
                        "dispatchLayout() of ids in memory that is closed",
                        t -> t.buffer.dispatchLayout(t.closed(DataType.INT32, TOKENS, TOPK))),
                closed("cached-closed", "a dispatch along the routes of a handle that is closed", t -> {
                    DispatchHandle old = t.buffer.dispatch(t.dispatch().build()).handle();
                    old.close();
                    t.send(DispatchRequest.builder(t.x(), old));
                }));
    }

    static List<Refusal> combines() {
        return List.of(
                wrong(
                        "combine-rows",
                        "expert outputs with too few rows",
                        "x",
                        t -> t.send(CombineRequest.builder(t.bf16(Math.max(0, t.rows - 1), HIDDEN), t.handle))),
                wrong(
                        "combine-hidden",
                        "expert outputs of another hidden size",
                        "x",
                        t -> t.send(CombineRequest.builder(t.bf16(t.rows, HIDDEN + 16), t.handle))),
                wrong(
                        "combine-type",
                        "expert outputs of FP8",
                        "x",
                        t -> t.send(CombineRequest.builder(t.of(DataType.FP8_E4M3, t.rows, HIDDEN), t.handle))),
                wrong(
                        "combine-weights",
                        "a high-throughput combine with weights of another shape",
                        "weights",
                        t -> t.send(t.combine().weights(t.of(DataType.FP32, t.rows, TOPK + 1)))),
                wrong(
                        "combine-bias",
                        "a bias for another number of tokens",
                        "bias",
                        t -> t.send(t.combine().bias(t.bf16(TOKENS + 1, HIDDEN)))),
                wrong(
                        "combine-biases",
                        "three biases",
                        "bias",
                        t -> t.send(t.combine().bias(t.x()).bias(t.x()).bias(t.x()))),
                wrong(
                        "combine-out",
                        "an output for another number of tokens",
                        "out",
                        t -> t.send(t.combine().out(t.bf16(TOKENS - 1, HIDDEN)))),
                foreign(
                        "combine-foreign",
                        "a handle of another buffer",
                        t -> t.other.combine(CombineRequest.builder(t.bf16(t.rows, HIDDEN), t.handle)
                                .build())),
                foreign("combine-closed", "a handle of a buffer that is closed", t -> {
                    DispatchHandle old;
                    try (EpBuffer gone = t.context.group().createBuffer(t.buffer.shape())) {
                        old = gone.dispatch(t.dispatch().build()).handle();
                    }
                    t.send(CombineRequest.builder(t.bf16(old.rows(), HIDDEN), old));
                }),
                wrong(
                        "combine-out-symmetric",
                        "an output of combine in memory that other ranks read",
                        "symmetric",
                        t -> t.send(t.combine().out(t.symmetric(t.buffer)))),
                wrong(
                        "combine-bias-symmetric",
                        "a bias in memory that other ranks write to",
                        "symmetric",
                        t -> t.send(t.combine().bias(t.symmetric(t.buffer)))),
                wrong("combine-out-x", "an output that overlaps the expert outputs", "overlapping x", t -> {
                    Tensor x = t.bf16(t.rows + TOKENS, HIDDEN);
                    t.send(CombineRequest.builder(x, t.handle)
                            .out(Tensor.of(
                                    x.memory().slice(HIDDEN * 2L, HIDDEN * 2L * TOKENS),
                                    DataType.BF16,
                                    TOKENS,
                                    HIDDEN)));
                }),
                wrong(
                        "combine-out-bias",
                        "an output that begins one row after the bias and overlaps it",
                        "overlapping bias",
                        t -> {
                            Tensor all = t.bf16(TOKENS + 1, HIDDEN);
                            Tensor out = Tensor.of(
                                    all.memory().slice(HIDDEN * 2L, HIDDEN * 2L * TOKENS),
                                    DataType.BF16,
                                    TOKENS,
                                    HIDDEN);
                            t.send(t.combine()
                                    .bias(Tensor.of(all.memory(), DataType.BF16, TOKENS, HIDDEN))
                                    .out(out));
                        }),
                closed(
                        "combine-x-closed",
                        "expert outputs in memory that is closed",
                        t -> t.send(CombineRequest.builder(t.closed(DataType.BF16, t.rows, HIDDEN), t.handle))),
                closed("combine-handle-closed", "expert outputs for a handle that is closed", t -> {
                    DispatchHandle old = t.buffer.dispatch(t.dispatch().build()).handle();
                    Tensor x = t.bf16(old.rows(), HIDDEN);
                    old.close();
                    t.send(CombineRequest.builder(x, old));
                }));
    }

    private static Refusal closed(String name, String text, Refusal.Action action) {
        return new Refusal(name, text, EpStateException.class, "closed", action);
    }

    private static Refusal foreign(String name, String text, Refusal.Action action) {
        return new Refusal(name, text, EpStateException.class, "buffer", action);
    }
}
