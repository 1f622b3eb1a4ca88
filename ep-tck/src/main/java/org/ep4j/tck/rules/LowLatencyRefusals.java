package org.ep4j.tck.rules;

import static org.ep4j.tck.rules.Refusal.Fixture.HIDDEN;
import static org.ep4j.tck.rules.Refusal.Fixture.MOST;
import static org.ep4j.tck.rules.Refusal.Fixture.TOKENS;
import static org.ep4j.tck.rules.Refusal.Fixture.TOPK;
import static org.ep4j.tck.rules.Refusal.closed;
import static org.ep4j.tck.rules.Refusal.foreign;
import static org.ep4j.tck.rules.Refusal.wrong;

import java.util.Arrays;
import java.util.List;
import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;

/** Calls of low latency with one wrong argument each, in the order of the rules. */
final class LowLatencyRefusals {
    private LowLatencyRefusals() {}

    static List<Refusal> all() {
        return List.of(
                wrong("ll-hidden", "x", f -> f.lowLatencyDispatch(f.bf16(TOKENS, HIDDEN / 2), f.ids())),
                wrong("ll-type", "x", f -> f.lowLatencyDispatch(f.fp8(TOKENS, HIDDEN), f.ids())),
                wrong("ll-alignment", "x", f -> f.lowLatencyDispatch(f.shifted(), f.ids())),
                wrong(
                        "ll-tokens",
                        Integer.toString(MOST),
                        f -> f.lowLatencyDispatch(f.bf16(MOST + 1, HIDDEN), f.int32(MOST + 1, TOPK))),
                wrong("ll-ids-k", "topkIds", f -> f.lowLatencyDispatch(f.x(), f.int32(TOKENS, TOPK - 1))),
                wrong("ll-ids-range", "topkIds[0][1]", f -> {
                    f.lowLatencyDispatch(f.x(), f.ids(1, f.buffer.shape().experts()));
                }),
                wrong(
                        "ll-weights",
                        "topkWeights",
                        f -> f.send(f.lowLatencyDispatch().topkWeights(f.fp32(TOKENS)))),
                wrong("ll-out", "out", f -> {
                    f.send(f.lowLatencyDispatch().out(f.bf16(f.local(), f.slots() - 1, HIDDEN)));
                }),
                wrong("ll-out-type", "out", f -> {
                    f.send(f.lowLatencyDispatch().format(WireFormat.FP8).out(f.slotRows()));
                }),
                wrong("ll-out-scales", "outScales", f -> {
                    Tensor scales = f.fp32(f.local(), f.slots(), 1);
                    f.send(f.lowLatencyDispatch().format(WireFormat.FP8_UE8M0).outScales(scales));
                }),
                wrong("ll-stats", "expertStats", f -> {
                    f.send(f.lowLatencyDispatch().expertStats(f.int32(f.local() + 1)));
                }),
                wrong("ll-wait-stats", "waitStats", f -> {
                    f.send(f.lowLatencyDispatch().waitStats(f.int32(f.context.size())));
                }),
                wrong("ll-x-symmetric", "symmetric", f -> f.lowLatencyDispatch(f.symmetric(f.buffer), f.ids())),
                wrong("ll-out-x", "overlapping x", f -> {
                    Tensor out = f.slotRows();
                    Tensor x = Tensor.of(out.memory(), DataType.BF16, TOKENS, HIDDEN);
                    f.send(LowLatencyDispatchRequest.builder(x, f.ids()).out(out));
                }),
                wrong("ll-stats-weights", "overlapping topkWeights", f -> {
                    Tensor stats = f.arena.allocate(DataType.INT64, f.context.size() + TOKENS * TOPK);
                    f.send(f.lowLatencyDispatch()
                            .topkWeights(Tensor.of(stats.memory(), DataType.FP32, TOKENS, TOPK))
                            .waitStats(Tensor.of(stats.memory(), DataType.INT64, f.context.size())));
                }),
                closed("ll-x-closed", f -> f.lowLatencyDispatch(f.closed(DataType.BF16, TOKENS, HIDDEN), f.ids())),
                wrong("ll-combine-shape", "x", f -> {
                    f.send(f.lowLatencyCombine(f.bf16(f.local(), f.slots() + 1, HIDDEN)));
                }),
                wrong("ll-combine-type", "x", f -> f.send(f.lowLatencyCombine(f.fp32(f.local(), f.slots(), HIDDEN)))),
                wrong("ll-combine-no-weights", "topkWeights", f -> {
                    f.send(LowLatencyCombineRequest.builder(f.slotRows(), f.lowLatencyHandle));
                }),
                wrong("ll-combine-partial", "topkWeights", f -> {
                    f.send(f.lowLatencyCombine().precision(CombinePrecision.RANK_PARTIAL));
                }),
                wrong("ll-combine-weights", "topkWeights", f -> {
                    f.send(f.lowLatencyCombine().topkWeights(f.fp32(TOKENS + 1, TOPK)));
                }),
                wrong("ll-combine-out", "out", f -> f.send(f.lowLatencyCombine().out(f.bf16(TOKENS + 1, HIDDEN)))),
                foreign("ll-combine-foreign", f -> {
                    f.other.lowLatencyCombine(f.lowLatencyCombine().build());
                }),
                wrong("ll-combine-out-symmetric", "symmetric", f -> {
                    f.send(f.lowLatencyCombine().out(f.symmetric(f.buffer)));
                }),
                wrong("ll-combine-out-x", "overlapping x", f -> {
                    Tensor x = f.slotRows();
                    f.send(f.lowLatencyCombine(x).out(Tensor.of(x.memory(), DataType.BF16, TOKENS, HIDDEN)));
                }),
                closed("ll-combine-x-closed", f -> {
                    f.send(f.lowLatencyCombine(f.closed(DataType.BF16, f.local(), f.slots(), HIDDEN)));
                }),
                closed("ll-combine-handle-closed", f -> {
                    // No token names an expert twice: an expert has no room for duplicates.
                    int[] ids = new int[TOKENS * TOPK];
                    Arrays.setAll(ids, i -> i % TOPK);
                    Tensor topkIds = f.arena.ints(ids, TOKENS, TOPK);
                    LowLatencyHandle old = f.buffer
                            .lowLatencyDispatch(LowLatencyDispatchRequest.builder(f.x(), topkIds)
                                    .build())
                            .handle();
                    old.close();
                    f.send(LowLatencyCombineRequest.builder(f.slotRows(), old).topkWeights(f.fp32(TOKENS, TOPK)));
                }));
    }
}
