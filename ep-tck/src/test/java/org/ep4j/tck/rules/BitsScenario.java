package org.ep4j.tck.rules;

import java.nio.ByteBuffer;
import java.util.Set;
import java.util.zip.CRC32C;
import org.ep4j.CombineResult;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.CombineOracle;
import org.ep4j.tck.oracle.Workload;

/** Exchanges in both modes on one buffer, compared with the oracle; their bits are reported. */
final class BitsScenario implements Scenario {
    private final CRC32C bits = new CRC32C();

    @Override
    public void run(RankContext context) {
        Setup setup = Setup.of(context);
        EpBuffer buffer = context.buffer(setup.shape());
        for (int round = 0; round < context.params().number("rounds", 2); round++) {
            Workload workload = setup.workload(context.params().number("seed", 1) + 1000L * round);
            highThroughput(context, buffer, workload);
            LowLatencyOptions low = LowLatencyOptions.of(context.params());
            if (context.params().has("low")) {
                try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, workload, low, Set.of())) {
                    exchange.round();
                    bits.update(exchange.bits().getBytes(java.nio.charset.StandardCharsets.US_ASCII));
                }
            }
        }
        context.fact("bits", Long.toHexString(bits.getValue()));
    }

    private void highThroughput(RankContext context, EpBuffer buffer, Workload workload) {
        HighThroughputOptions options = HighThroughputOptions.of(context.params());
        try (HighThroughputExchange exchange =
                new HighThroughputExchange(context, buffer, workload, options, Set.of())) {
            DispatchResult result = exchange.dispatch();
            exchange.verifier.dispatch(result, exchange.table, options.carried());
            addRows(exchange, result.x(), result.sourceRanks());
            bits.update(exchange.arena.readRaw(result.sourceTokens()));
            bits.update(exchange.arena.readRaw(result.rowsPerSource()));
            result.topkWeights().ifPresent(w -> addRows(exchange, w, result.sourceRanks()));
            if (options.cached()) {
                exchange.cachedDispatch(result.handle());
            }
            CombineResult back = exchange.combine(result.handle(), workload.randomOutputs());
            bits.update(exchange.arena.readRaw(back.out()));
            back.weights().ifPresent(w -> bits.update(exchange.arena.readRaw(w)));
            exchange.verifier.combine(
                    back,
                    new CombineOracle(workload, workload.randomOutputs(), Set.of()),
                    workload,
                    context.rank(),
                    options.want());
        }
    }

    /** Padding says nothing. */
    private void addRows(HighThroughputExchange exchange, Tensor rows, Tensor sources) {
        int[] source = exchange.arena.device().ints(sources);
        ByteBuffer bytes = ByteBuffer.wrap(exchange.arena.readRaw(rows));
        int row = source.length == 0 ? 0 : bytes.capacity() / source.length;
        for (int i = 0; i < source.length; i++) {
            if (source[i] >= 0) {
                bits.update(bytes.array(), i * row, row);
            }
        }
    }
}
