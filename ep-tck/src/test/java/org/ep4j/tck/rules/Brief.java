package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.ep4j.DispatchHandle;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyHandle;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;

/**
 * Operations that are to end at a deadline: all others of a group may take as long as the machine needs. Ranks meet between dispatch and
 * combine, when all rows of the dispatch have arrived: a link that breaks in the combine loses none of them.
 *
 * <p>Low-latency operations are awaited apart: the call itself gives up a few seconds after the deadline, which kernels of an emulated GPU
 * may take longer to come to, and what they end with then is thrown by the next call.
 */
final class Brief {
    private Brief() {}

    /** A round of all ranks, of which the combine has the deadline. */
    static void combine(RankContext context, EpBuffer buffer, Params params, Duration longest) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(
                context,
                buffer,
                new Setup(params, context.size()).workload(),
                HighThroughputOptions.of(params),
                Set.of())) {
            DispatchHandle handle = exchange.dispatch().handle();
            context.meet();
            exchange.endAfter(longest);
            exchange.combine(handle);
        }
    }

    /** A round of all ranks, of which the combine has the deadline. */
    static void lowLatencyCombine(RankContext context, EpBuffer buffer, Params params, Duration longest) {
        try (LowLatencyExchange exchange = low(context, buffer, with(params, "async"))) {
            LowLatencyHandle handle = exchange.dispatch().handle();
            context.meet();
            exchange.endAfter(longest);
            exchange.combine(handle, exchange.outputs());
        }
    }

    static void lowLatencyDispatch(RankContext context, EpBuffer buffer, Params params, Duration longest) {
        try (LowLatencyExchange exchange = low(context, buffer, with(params, "async"))) {
            exchange.endAfter(longest);
            exchange.dispatch();
        }
    }

    /** A round that ends in its combine, and the next dispatch: from the first combine on, all that is sent and nothing that is received. */
    static void lowLatencySends(RankContext context, EpBuffer buffer, Params params) {
        Params hook = with(params, "hook");
        try (LowLatencyExchange first = low(context, buffer, params);
                LowLatencyExchange sends = low(context, buffer, hook);
                LowLatencyExchange next = low(context, buffer, hook)) {
            LowLatencyHandle handle = first.dispatch().handle();
            context.meet();
            sends.sendBack(handle, sends.outputs());
            next.send();
        }
    }

    private static Params with(Params params, String name) {
        Map<String, String> values = new TreeMap<>(params.values());
        values.put(name, "");
        return new Params(values);
    }

    private static LowLatencyExchange low(RankContext context, EpBuffer buffer, Params params) {
        return new LowLatencyExchange(
                context, buffer, new Setup(params, context.size()).workload(), LowLatencyOptions.of(params), Set.of());
    }
}
