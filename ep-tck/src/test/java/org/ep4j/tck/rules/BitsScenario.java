package org.ep4j.tck.rules;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;
import org.ep4j.CombineResult;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Exchanges in both modes on one buffer, compared with the oracle; their bits are reported. */
final class BitsScenario implements Scenario {
    private final CRC32C bits = new CRC32C();

    @Override
    public void run(RankContext context) {
        Setup setup = Setup.of(context);
        EpBuffer buffer = setup.buffer();
        for (int round = 0; round < context.params().number("rounds", 2); round++) {
            Workload workload = setup.workload(context.params().number("seed", 1) + 1000L * round);
            highThroughput(context, buffer, workload);
            if (context.params().has("low")) {
                try (LowLatencyExchange exchange =
                        new LowLatencyExchange(context, buffer, workload, context.params())) {
                    exchange.round();
                    bits.update(exchange.bits().getBytes(StandardCharsets.US_ASCII));
                }
            }
        }
        context.fact("bits", Long.toHexString(bits.getValue()));
    }

    private void highThroughput(RankContext context, EpBuffer buffer, Workload workload) {
        try (HighThroughputExchange exchange =
                new HighThroughputExchange(context, buffer, workload, context.params())) {
            DispatchResult result = exchange.dispatch();
            exchange.verify(result);
            addRows(exchange, result.x(), result.sourceRanks());
            bits.update(exchange.arena.readRaw(result.sourceTokens()));
            bits.update(exchange.arena.readRaw(result.rowsPerSource()));
            result.topkWeights().ifPresent(w -> addRows(exchange, w, result.sourceRanks()));
            if (context.params().has("cached")) {
                exchange.cachedDispatch(result.handle());
            }
            CombineResult back = exchange.combine(result.handle());
            bits.update(exchange.arena.readRaw(back.out()));
            back.weights().ifPresent(w -> bits.update(exchange.arena.readRaw(w)));
            exchange.verify(back);
        }
    }

    /** Adds rows to the digest, except for padding, which has no defined bits. */
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
