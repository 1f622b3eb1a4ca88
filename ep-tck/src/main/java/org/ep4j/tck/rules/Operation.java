package org.ep4j.tck.rules;

import java.time.Duration;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.oracle.Workload;

/** One collective operation that faults are tried in: what comes before it, and the operation itself. */
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
     * An operation.
     *
     * @param name ht-dispatch, ht-async, ht-combine, ll-dispatch, ll-receive, ll-combine, recover or barrier
     * @param timeout after which the operation ends, but not what is done before it
     */
    Operation(String name, RankContext context, EpBuffer buffer, Duration timeout) {
        this.name = name;
        this.timeout = timeout;
        this.context = context;
        this.buffer = buffer;
        Workload workload = new Setup(PARAMS, context.size()).workload();
        this.high = new HighThroughputExchange(context, buffer, workload, HighThroughputOptions.of(PARAMS));
        this.low = new LowLatencyExchange(context, buffer, workload, LowLatencyOptions.of(PARAMS));
        this.hooked = new LowLatencyExchange(context, buffer, workload, LowLatencyOptions.of(Params.parse("hook")));
    }

    /** False where the operation counts as completed on some ranks although others did not take part. */
    boolean countsExactly() {
        return !name.equals("ll-receive") && !name.equals("recover");
    }

    /** A whole round without faults, after which code is warm and every path was used. Gives the operation. */
    Runnable prepare() {
        high.round();
        low.round();
        DispatchHandle handle = high.dispatch().handle();
        LowLatencyHandle packed = low.dispatch().handle();
        high.endAfter(timeout);
        low.endAfter(timeout);
        hooked.endAfter(timeout);
        EpBuffer async = buffer.withOptions(OpOptions.DEFAULT.timeout(timeout).asynchronous());
        return switch (name) {
            case "ht-dispatch" -> high::dispatch;
            case "ht-async" ->
                () -> async.dispatch(high.inputs.rows(context.rank()), high.inputs.ids(context.rank(), DataType.INT32))
                        .event()
                        .await(Checks.patience());
            case "ht-combine" -> () -> high.combine(handle, (rank, token, key, out) -> {});
            case "ll-dispatch" -> low::dispatch;
            case "ll-receive" -> () -> hooked.send().receive();
            case "recover" -> () -> buffer.recover(timeout);
            case "ll-combine" -> () -> low.combine(packed, low.outputs());
            case "barrier" -> () -> buffer.group().barrier(timeout);
            default -> throw new IllegalArgumentException("no such operation: " + name);
        };
    }

    /** Exchanges in both modes with the ranks that the buffer leaves out now, everything compared. */
    void verifyRest() {
        for (int round = 0; round < 3; round++) {
            Params params = Params.parse("dup=0.2 seed=" + round);
            LifecycleScenario.highThroughput(context, buffer, params);
            LifecycleScenario.highThroughput(context, buffer, Params.parse("layout=BY_EXPERT align=4 seed=" + round));
            LifecycleScenario.lowLatency(context, buffer, Params.parse("seed=" + round));
        }
    }

    @Override
    public void close() {
        high.close();
        low.close();
        hooked.close();
    }
}
