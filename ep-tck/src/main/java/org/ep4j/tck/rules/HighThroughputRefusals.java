package org.ep4j.tck.rules;

import static org.ep4j.tck.rules.Refusal.Fixture.HIDDEN;
import static org.ep4j.tck.rules.Refusal.Fixture.MOST;
import static org.ep4j.tck.rules.Refusal.Fixture.TOKENS;
import static org.ep4j.tck.rules.Refusal.Fixture.TOPK;
import static org.ep4j.tck.rules.Refusal.closed;
import static org.ep4j.tck.rules.Refusal.foreign;
import static org.ep4j.tck.rules.Refusal.wrong;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.EpBuffer;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;

/** Calls of high throughput with one wrong argument each, in the order of the rules. */
final class HighThroughputRefusals {
    private HighThroughputRefusals() {}

    static List<Refusal> all() {
        return List.of(
                wrong("x-hidden", "x", f -> f.dispatch(f.bf16(TOKENS, HIDDEN * 2), f.ids())),
                wrong("x-dims", "x", f -> f.dispatch(f.bf16(TOKENS, HIDDEN, 1), f.ids())),
                wrong("x-type", "x", f -> f.dispatch(f.fp32(TOKENS, HIDDEN), f.ids())),
                wrong("x-alignment", "x", f -> f.dispatch(f.shifted(), f.ids())),
                wrong("x-device", "x", f -> {
                    Tensor here = f.x();
                    Device elsewhere = new Device("elsewhere", 7);
                    f.dispatch(Tensor.at(here.address(), elsewhere, here.type(), TOKENS, HIDDEN), f.ids());
                }),
                wrong(
                        "x-tokens",
                        Integer.toString(MOST),
                        f -> f.dispatch(f.bf16(MOST + 1, HIDDEN), f.int32(MOST + 1, TOPK))),
                wrong("ids-tokens", "topkIds", f -> f.dispatch(f.x(), f.int32(TOKENS - 1, TOPK))),
                wrong("ids-k", "topkIds", f -> f.dispatch(f.x(), f.int32(TOKENS, TOPK + 1))),
                wrong("ids-type", "topkIds", f -> f.dispatch(f.x(), f.fp32(TOKENS, TOPK))),
                wrong("ids-high", "topkIds[1][0]", f -> {
                    f.dispatch(f.x(), f.ids(TOPK, f.buffer.shape().experts()));
                }),
                wrong("ids-low", "topkIds[0][2]", f -> f.dispatch(f.x(), f.ids(2, -2))),
                wrong("ids-wide", "topkIds[0][0]", f -> {
                    Tensor ids = f.arena.longs(new int[TOKENS * TOPK], TOKENS, TOPK);
                    ByteBuffer direct = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
                    f.arena.device().upload(direct.putLong(1L << 32).flip(), ids.memory());
                    f.dispatch(f.x(), ids);
                }),
                wrong("weights-shape", "topkWeights", f -> f.send(f.dispatch().topkWeights(f.fp32(TOKENS, TOPK - 1)))),
                wrong("weights-type", "topkWeights", f -> f.send(f.dispatch().topkWeights(f.bf16(TOKENS, TOPK)))),
                wrong("scales-missing", "scales", f -> f.dispatch(f.fp8(TOKENS, HIDDEN), f.ids())),
                wrong("scales-needless", "scales", f -> f.send(f.dispatch().scales(f.fp32(TOKENS, 1)))),
                wrong(
                        "scales-shape",
                        "scales",
                        f -> f.send(DispatchRequest.builder(f.fp8(TOKENS, HIDDEN), f.ids())
                                .scales(f.fp32(TOKENS, 5)))),
                wrong("out-type", "out", f -> f.send(f.dispatch().out(f.fp8(64, HIDDEN)))),
                wrong("out-hidden", "out", f -> f.send(f.dispatch().out(f.bf16(64, HIDDEN / 2)))),
                wrong("out-worst", "out", f -> f.send(f.dispatch().worstCase().out(f.bf16(1, HIDDEN)))),
                wrong(
                        "alignment-zero",
                        "expertAlignment",
                        f -> f.send(f.dispatch().expertAlignment(0))),
                wrong(
                        "stream",
                        "stream",
                        f -> f.buffer
                                .withOptions(OpOptions.DEFAULT.onStream(5))
                                .dispatch(f.dispatch().build())),
                wrong("layout-k", "topkIds", f -> f.buffer.dispatchLayout(f.int32(TOKENS, TOPK + 2))),
                wrong(
                        "layout-range",
                        "topkIds[0][0]",
                        f -> f.buffer.dispatchLayout(f.arena.ints(new int[] {9999, 0, 0}, 1, TOPK))),
                wrong("cached-tokens", "x", f -> f.send(DispatchRequest.builder(f.bf16(TOKENS - 1, HIDDEN), f.handle))),
                foreign(
                        "cached-foreign",
                        f -> f.other.dispatch(
                                DispatchRequest.builder(f.x(), f.handle).build())),
                wrong("x-symmetric", "symmetric", f -> f.dispatch(f.symmetric(f.buffer), f.ids())),
                wrong("out-x", "overlapping x", f -> {
                    Tensor x = f.x();
                    f.send(DispatchRequest.builder(x, f.ids()).out(x));
                }),
                wrong("out-weights", "overlapping topkWeights", f -> {
                    Tensor out = f.bf16(f.worst(), HIDDEN);
                    Tensor weights = Tensor.of(out.memory(), DataType.FP32, TOKENS, TOPK);
                    f.send(f.dispatch().topkWeights(weights).out(out));
                }),
                closed("x-closed", f -> f.dispatch(f.closed(DataType.BF16, TOKENS, HIDDEN), f.ids())),
                closed("ids-closed", f -> f.dispatch(f.x(), f.closed(DataType.INT32, TOKENS, TOPK))),
                closed("out-closed", f -> f.send(f.dispatch().out(f.closed(DataType.BF16, f.worst(), HIDDEN)))),
                closed("buffer-closed", f -> f.dispatch(ofClosedBuffer(f), f.ids())),
                closed("copy-closed", f -> {
                    f.arena.device().download(ofClosedBuffer(f).memory(), ByteBuffer.allocate(HIDDEN));
                }),
                closed("layout-closed", f -> f.buffer.dispatchLayout(f.closed(DataType.INT32, TOKENS, TOPK))),
                closed("cached-closed", f -> {
                    DispatchHandle old = f.buffer.dispatch(f.dispatch().build()).handle();
                    old.close();
                    f.send(DispatchRequest.builder(f.x(), old));
                }),
                wrong("stats", "expertStats", f -> f.send(f.dispatch().expertStats(f.int32(f.local() + 1)))),
                wrong("wait-stats", "waitStats", f -> f.send(f.dispatch().waitStats(f.int32(f.context.size())))),
                wrong("combine-rows", "x", f -> f.combine(f.bf16(Math.max(0, f.rows - 1), HIDDEN), f.handle)),
                wrong("combine-hidden", "x", f -> f.combine(f.bf16(f.rows, HIDDEN + 16), f.handle)),
                wrong("combine-type", "x", f -> f.combine(f.fp8(f.rows, HIDDEN), f.handle)),
                wrong("combine-weights", "weights", f -> f.send(f.combine().weights(f.fp32(f.rows, TOPK + 1)))),
                wrong("combine-bias", "bias", f -> f.send(f.combine().bias(f.bf16(TOKENS + 1, HIDDEN)))),
                wrong("combine-biases", "bias", f -> {
                    f.send(f.combine().bias(f.x()).bias(f.x()).bias(f.x()));
                }),
                wrong("combine-out", "out", f -> f.send(f.combine().out(f.bf16(TOKENS - 1, HIDDEN)))),
                foreign("combine-foreign", f -> f.other.combine(f.combine().build())),
                foreign("combine-closed", f -> {
                    DispatchHandle old;
                    try (EpBuffer gone = f.context.group().createBuffer(f.buffer.shape())) {
                        old = gone.dispatch(f.dispatch().build()).handle();
                    }
                    f.combine(f.bf16(old.rows(), HIDDEN), old);
                }),
                wrong(
                        "combine-out-symmetric",
                        "symmetric",
                        f -> f.send(f.combine().out(f.symmetric(f.buffer)))),
                wrong(
                        "combine-bias-symmetric",
                        "symmetric",
                        f -> f.send(f.combine().bias(f.symmetric(f.buffer)))),
                wrong("combine-out-x", "overlapping x", f -> {
                    Tensor x = f.bf16(f.rows + TOKENS, HIDDEN);
                    f.send(CombineRequest.builder(x, f.handle).out(f.at(1, x)));
                }),
                wrong("combine-out-bias", "overlapping bias", f -> {
                    Tensor all = f.bf16(TOKENS + 1, HIDDEN);
                    f.send(f.combine().bias(f.at(0, all)).out(f.at(1, all)));
                }),
                closed("combine-x-closed", f -> f.combine(f.closed(DataType.BF16, f.rows, HIDDEN), f.handle)),
                closed("combine-handle-closed", f -> {
                    DispatchHandle old = f.buffer.dispatch(f.dispatch().build()).handle();
                    Tensor x = f.bf16(old.rows(), HIDDEN);
                    old.close();
                    f.combine(x, old);
                }),
                wrong("combine-wait-stats", "waitStats", f -> f.send(f.combine().waitStats(f.int32(f.context.size())))),
                wrong("combine-stats-x", "overlapping x", f -> {
                    Tensor x = f.bf16(f.rows + TOKENS, HIDDEN);
                    f.send(CombineRequest.builder(x, f.handle)
                            .waitStats(Tensor.of(x.memory(), DataType.INT64, f.context.size())));
                }));
    }

    /** Returns rows in the memory of a buffer that is closed. */
    private static Tensor ofClosedBuffer(Refusal.Fixture f) {
        try (EpBuffer gone = f.context.group().createBuffer(f.buffer.shape())) {
            return f.symmetric(gone);
        }
    }
}
