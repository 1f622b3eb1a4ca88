package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Arrays;
import org.ep4j.CombineResult;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Results stay unchanged while other ranks run ahead, are complete when an operation returns, and have the same bits every time. */
final class OrderScenario implements Scenario {
    private static final Duration SLOW = Duration.ofMillis(15);
    private static final Params PLAIN = Params.parse("");

    @Override
    public void run(RankContext context) {
        Setup setup = Setup.of(context);
        EpBuffer buffer = setup.buffer();
        switch (context.params().text("case", "")) {
            case "slow-reader" -> slowReader(context, buffer, setup);
            case "slow-decoder" -> slowDecoder(context, buffer, setup);
            case "same-bits" -> sameBits(context, buffer);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    /** In turn each rank reads its results late, when the others have called the next operations already. */
    private static void slowReader(RankContext context, EpBuffer buffer, Setup setup) {
        for (int round = 0; round < 3 * context.size(); round++) {
            boolean slow = round % context.size() == context.rank();
            try (HighThroughputExchange exchange =
                    new HighThroughputExchange(context, buffer, setup.workload(round), PLAIN)) {
                DispatchResult result = exchange.dispatch();
                pause(context, slow);
                exchange.verify(result);
                CombineResult back = exchange.combine(result.handle());
                pause(context, slow);
                Checks.that(back.event().isDone(), "a combine has returned, but its event is not done");
                exchange.verify(exchange.combine(result.handle()));
            }
        }
    }

    /** The same in low latency, where two results are valid at a time: the older one is read late. */
    private static void slowDecoder(RankContext context, EpBuffer buffer, Setup setup) {
        Params params = context.params();
        for (int round = 0; round < 3 * context.size(); round++) {
            boolean slow = round % context.size() == context.rank();
            try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(2L * round), params);
                    LowLatencyExchange two =
                            new LowLatencyExchange(context, buffer, setup.workload(2L * round + 1), params)) {
                LowLatencyDispatchResult first = one.dispatch();
                LowLatencyDispatchResult second = two.dispatch();
                pause(context, slow);
                one.verify(first);
                two.verify(second);
                CombineResult firstBack = one.combine(first.handle());
                CombineResult secondBack = two.combine(second.handle());
                pause(context, slow);
                one.verify(firstBack);
                two.verify(secondBack);
            }
        }
    }

    private static void pause(RankContext context, boolean slow) {
        if (slow) {
            context.sleep(SLOW);
        }
    }

    /** The same inputs give the same bits, also where results are rounded, whatever the buffer held before. */
    private static void sameBits(RankContext context, EpBuffer buffer) {
        byte[] before = new byte[0];
        for (int round = 0; round < 3; round++) {
            try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, context.params())) {
                LowLatencyDispatchResult result = exchange.dispatch();
                CombineResult back = exchange.combine(result.handle());
                exchange.verify(back);
                byte[] bits = exchange.arena.readRaw(back.out());
                int at = round == 0 ? -1 : Arrays.mismatch(bits, before);
                Checks.that(
                        at < 0, "byte " + at + " of the combined rows differs between two rounds with the same inputs");
                before = bits;
                context.fact("bits", exchange.bits());
            }
            LowLatencyExchange.run(context, buffer, Params.parse("hidden=256 seed=" + (40 + round)));
        }
    }
}
