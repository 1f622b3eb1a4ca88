package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Bf16;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.Workload;

/**
 * Both selections of a token bring the same row, with weights w and -w: what is left is the rounding error of the first
 * product, and zero where products are rounded before they are added.
 */
final class FusedScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        Workload workload = setup.workload();
        int rank = context.rank();
        try (LowLatencyExchange exchange =
                new LowLatencyExchange(context, buffer, workload, LowLatencyOptions.of(context.params()), Set.of())) {
            LowLatencyHandle handle = exchange.dispatch().handle();
            float[] weights = workload.weights(rank);
            for (int i = 1; i < weights.length; i += 2) {
                weights[i] = -weights[i - 1];
            }
            OutputRows rows = workload.echoOutputs();
            Tensor x = exchange.arena()
                    .allocate(
                            DataType.BF16,
                            exchange.table().localExperts(),
                            buffer.maxLowLatencyRows(),
                            workload.hidden());
            exchange.inputs().outputs(x, exchange.table(), rows);
            Tensor out = buffer.lowLatencyCombine(LowLatencyCombineRequest.builder(x, handle)
                            .topkWeights(exchange.arena().floats(weights, workload.tokens(rank), 2))
                            .build())
                    .out();
            short[] row = new short[workload.hidden()];
            exchange.arena().readShorts(out, workload.tokens(rank), (token, seen) -> {
                workload.row(rank, token, row);
                for (int h = 0; h < row.length; h++) {
                    float weight = weights[token * 2];
                    float value = Bf16.toFloat(row[h]);
                    float left = Math.fma(-weight, value, weight * value);
                    Checks.equal(
                            "combined out[token " + token + "][channel " + h + "]",
                            Bf16.toFloat(seen[h]),
                            Bf16.toFloat(Bf16.fromFloat(left)));
                }
            });
        }
    }
}
