package org.ep4j.tck.rules;

import java.time.Duration;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;

/** One collective operation that faults are tried in, and the operations before it. */
final class Operation implements AutoCloseable {
    /** Operations that {@link #prepare} completes. */
    static final long COMPLETED_BEFORE = 6;

    private static final Params PARAMS = Params.parse("");

    private final String name;
    private final Duration timeout;
    private final RankContext context;
    private final EpBuffer buffer;
    private final HighThroughputExchange high;
    private final LowLatencyExchange low;
    private final LowLatencyExchange hooked;

    /**
     * Creates an operation.
     *
     * @param name ht-dispatch, ht-async, ht-combine, ll-dispatch, ll-receive, ll-combine, recover or barrier
     * @param timeout of the operation, and not of those before it
     */
    Operation(String name, RankContext context, EpBuffer buffer, Duration timeout) {
        this.name = name;
        this.timeout = timeout;
        this.context = context;
        this.buffer = buffer;
        this.high = new HighThroughputExchange(context, buffer, PARAMS);
        this.low = new LowLatencyExchange(context, buffer, PARAMS);
        this.hooked = new LowLatencyExchange(context, buffer, Params.parse("hook"));
    }

    /** Returns false where the operation counts as completed on some ranks although others did not take part. */
    boolean countsExactly() {
        return !name.equals("ll-receive") && !name.equals("recover");
    }

    /** Runs a whole round without faults, after which code is warm and every path was used, and returns the operation. */
    Runnable prepare() {
        high.round();
        low.round();
        DispatchHandle handle = high.dispatch().handle();
        LowLatencyHandle packed = low.dispatch().handle();
        high.timeout(timeout);
        low.timeout(timeout);
        hooked.timeout(timeout);
        EpBuffer async = buffer.withOptions(OpOptions.DEFAULT.timeout(timeout).asynchronous());
        return switch (name) {
            case "ht-dispatch" -> high::dispatch;
            case "ht-async" ->
                () -> async.dispatch(high.inputs.rows(context.rank()), high.inputs.ids(context.rank(), DataType.INT32))
                        .event()
                        .await(Checks.patience());
            case "ht-combine" -> () -> high.combine(handle);
            case "ll-dispatch" -> low::dispatch;
            case "ll-receive" -> () -> hooked.send().receive();
            case "recover" -> () -> buffer.recover(timeout);
            case "ll-combine" -> () -> low.combine(packed);
            case "barrier" -> () -> buffer.group().barrier(timeout);
            default -> throw new IllegalArgumentException("no such operation: " + name);
        };
    }

    /** Runs and verifies exchanges in both modes without the ranks that the buffer masks now. */
    void verifyRest() {
        for (int round = 0; round < 3; round++) {
            Params params = Params.parse("dup=0.2 seed=" + round);
            HighThroughputExchange.run(context, buffer, params);
            HighThroughputExchange.run(context, buffer, Params.parse("layout=BY_EXPERT align=4 seed=" + round));
            LowLatencyExchange.run(context, buffer, Params.parse("seed=" + round));
        }
    }

    @Override
    public void close() {
        high.close();
        low.close();
        hooked.close();
    }
}
