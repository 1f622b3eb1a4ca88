package org.ep4j.tck.rules;

import java.time.Duration;
import org.ep4j.DispatchHandle;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyHandle;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;

/**
 * Exchanges of which one operation has a short timeout; all other operations of the group may take as long as the machine needs. A barrier
 * between dispatch and combine, when all rows of the dispatch have arrived, keeps a link that breaks in the combine from losing any of them.
 *
 * <p>Low-latency operations are asynchronous, and their events are awaited: a call itself gives up a few seconds after the deadline, which
 * kernels of an emulated GPU may reach later, and then the next call throws their failure.
 */
final class DeadlineExchanges {
    private DeadlineExchanges() {}

    /** Runs a round of all ranks, whose combine has the timeout. */
    static void combine(RankContext context, EpBuffer buffer, Params params, Duration limit) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, params)) {
            DispatchHandle handle = exchange.dispatch().handle();
            context.barrier();
            exchange.timeout(limit);
            exchange.verify(exchange.combine(handle));
        }
    }

    /** Runs a round of all ranks, whose combine has the timeout. */
    static void lowLatencyCombine(RankContext context, EpBuffer buffer, Params params, Duration limit) {
        try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, params.with("async", true))) {
            LowLatencyHandle handle = exchange.dispatch().handle();
            context.barrier();
            exchange.timeout(limit);
            exchange.combine(handle);
        }
    }

    static void lowLatencyDispatch(RankContext context, EpBuffer buffer, Params params, Duration limit) {
        try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, params.with("async", true))) {
            exchange.timeout(limit);
            exchange.dispatch();
        }
    }

    /** Runs a round and the next dispatch; from the combine on, this only sends and does not receive. */
    static void lowLatencySends(RankContext context, EpBuffer buffer, Params params) {
        Params hook = params.with("hook", true);
        try (LowLatencyExchange first = new LowLatencyExchange(context, buffer, params);
                LowLatencyExchange sends = new LowLatencyExchange(context, buffer, hook);
                LowLatencyExchange next = new LowLatencyExchange(context, buffer, hook)) {
            LowLatencyHandle handle = first.dispatch().handle();
            context.barrier();
            sends.sendBack(handle);
            next.send();
        }
    }
}
