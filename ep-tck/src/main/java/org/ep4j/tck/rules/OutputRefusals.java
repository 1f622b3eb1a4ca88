package org.ep4j.tck.rules;

import static org.ep4j.tck.rules.Refusal.Fixture.HIDDEN;
import static org.ep4j.tck.rules.Refusal.Fixture.TOKENS;
import static org.ep4j.tck.rules.Refusal.Fixture.TOPK;
import static org.ep4j.tck.rules.Refusal.closed;
import static org.ep4j.tck.rules.Refusal.wrong;

import java.util.List;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;

/** Calls with one wrong tensor for what goes with rows, in the order of the rules. */
final class OutputRefusals {
    private OutputRefusals() {}

    static List<Refusal> all() {
        return List.of(
                wrong("outs-scales-needless", "outScales", f -> {
                    f.send(f.dispatch().outScales(f.fp32(f.worst(), 1)));
                }),
                wrong("outs-scales-shape", "outScales", f -> f.send(fp8(f).outScales(f.fp32(f.worst(), 5)))),
                wrong("outs-scales-alignment", "outScales", f -> {
                    Tensor larger = f.fp32(f.worst() + 1);
                    Tensor shifted = Tensor.of(larger.rows(1, f.worst()).memory(), DataType.FP32, f.worst(), 1);
                    f.send(fp8(f).outScales(shifted));
                }),
                wrong("outs-ids-type", "outTopkIds", f -> {
                    f.send(f.dispatch().outTopkIds(f.arena.allocate(DataType.INT64, f.worst(), TOPK)));
                }),
                wrong("outs-ids-layout", "outTopkIds", f -> {
                    f.send(f.dispatch().layout(RowLayout.BY_EXPERT).outTopkIds(f.int32(f.worst(), TOPK)));
                }),
                wrong("outs-weights-needless", "outTopkWeights", f -> {
                    f.send(f.dispatch().outTopkWeights(f.fp32(f.worst(), TOPK)));
                }),
                wrong("outs-weights-shape", "outTopkWeights", f -> {
                    f.send(f.dispatch().topkWeights(f.fp32(TOKENS, TOPK)).outTopkWeights(f.fp32(f.worst())));
                }),
                wrong("outs-ranks-type", "outSourceRanks", f -> {
                    f.send(f.dispatch().outSourceRanks(f.fp32(f.worst())));
                }),
                wrong("outs-tokens-worst", "outSourceTokens", f -> {
                    f.send(f.dispatch().worstCase().outSourceTokens(f.int32(1)));
                }),
                wrong("outs-per-source", "outRowsPerSource", f -> {
                    f.send(f.dispatch().outRowsPerSource(f.int32(f.context.size() + 1)));
                }),
                wrong("outs-per-expert", "outRowsPerExpert", f -> {
                    f.send(f.dispatch().outRowsPerExpert(f.int32(f.local() + 1)));
                }),
                wrong("outs-offsets", "outExpertOffsets", f -> {
                    f.send(f.dispatch().outExpertOffsets(f.arena.allocate(DataType.INT64, f.local())));
                }),
                wrong("outs-overlap", "overlapping outSourceTokens", f -> {
                    Tensor both = f.int32(f.worst());
                    f.send(f.dispatch().outSourceRanks(both).outSourceTokens(both));
                }),
                closed("outs-closed", f -> {
                    f.send(f.dispatch().outSourceRanks(f.closed(DataType.INT32, f.worst())));
                }),
                wrong("outs-combine-needless", "outWeights", f -> {
                    f.send(f.combine().outWeights(f.fp32(TOKENS, TOPK)));
                }),
                wrong("outs-combine-shape", "outWeights", f -> {
                    f.send(f.combine().weights(f.fp32(f.rows, TOPK)).outWeights(f.fp32(TOKENS + 1, TOPK)));
                }),
                wrong("ll-outs-per-expert", "outRowsPerExpert", f -> {
                    f.send(f.lowLatencyDispatch().outRowsPerExpert(f.int32(f.local() + 1)));
                }),
                wrong("ll-outs-tokens", "outSourceTokens", f -> {
                    f.send(f.lowLatencyDispatch().outSourceTokens(f.int32(f.local() * f.slots())));
                }),
                wrong("ll-outs-ranges", "outLayoutRanges", f -> {
                    f.send(f.lowLatencyDispatch().outLayoutRanges(f.int32(f.local(), f.context.size())));
                }));
    }

    private static DispatchRequest.Builder fp8(Refusal.Fixture f) {
        return DispatchRequest.builder(f.fp8(TOKENS, HIDDEN), f.ids()).scales(f.fp32(TOKENS, 1));
    }
}
