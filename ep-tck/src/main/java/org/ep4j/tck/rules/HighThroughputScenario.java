package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.IntUnaryOperator;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.LayoutOracle;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/**
 * High throughput besides {@link Rounds}: rows along the routes of a handle, how long results live, {@code
 * dispatchLayout()}, statistics of waiting.
 */
final class HighThroughputScenario implements Scenario {
    private static final int HANDLES = 5;

    @Override
    public void run(RankContext context) {
        Setup setup = Setup.of(context);
        EpBuffer buffer = setup.buffer();
        switch (context.params().text("case", "")) {
            case "backward" -> backward(context, buffer, setup);
            case "old-handles" -> oldHandles(context, buffer, setup);
            case "layout" -> layout(context, buffer, setup);
            case "wait-stats" -> waitStats(context, buffer);
            case "stale-dispatch" -> staleDispatch(context, buffer);
            case "stale-combine" -> staleCombine(context, buffer);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    /**
     * A training step: forward dispatch and combine; the gradient of the combined rows goes out along the same routes
     * (backward of combine), the sums of the gradients of the experts' inputs return (backward of dispatch).
     */
    private static void backward(RankContext context, EpBuffer buffer, Setup setup) {
        Workload forward = setup.workload();
        try (HighThroughputExchange step = new HighThroughputExchange(context, buffer, forward, context.params());
                HighThroughputExchange gradients =
                        new HighThroughputExchange(context, buffer, forward.withData(77), context.params())) {
            DispatchResult result = step.dispatch();
            step.verify(result);
            step.verify(step.combine(result.handle()));
            step.cachedDispatch(result.handle());
            gradients.verify(gradients.combine(result.handle()));
        }
    }

    /** Several handles of one buffer, each combined and dispatched again after all the others. */
    private static void oldHandles(RankContext context, EpBuffer buffer, Setup setup) {
        List<HighThroughputExchange> exchanges = new ArrayList<>();
        List<DispatchHandle> handles = new ArrayList<>();
        for (int i = 0; i < HANDLES; i++) {
            HighThroughputExchange exchange = context.owned(
                    new HighThroughputExchange(context, buffer, setup.workload(50L + i), context.params()));
            exchanges.add(exchange);
            handles.add(exchange.dispatch().handle());
        }
        for (int i = HANDLES - 1; i >= 0; i--) {
            exchanges.get(i).verify(exchanges.get(i).combine(handles.get(i)));
            exchanges.get(i).cachedDispatch(handles.get(i));
        }
    }

    private static void layout(RankContext context, EpBuffer buffer, Setup setup) {
        Workload workload = setup.workload();
        DataType type = context.params().has("id64") ? DataType.INT64 : DataType.INT32;
        DispatchLayout seen = buffer.dispatchLayout(new Inputs(context.arena(), workload).ids(context.rank(), type));
        LayoutOracle expected =
                LayoutOracle.of(workload, context.rank(), context.group().plan()::host, Set.of());
        equal("tokensToRank", seen::tokensToRank, expected.tokensToRank());
        equal("tokensToHost", seen::tokensToHost, expected.tokensToHost());
        equal("selections", seen::selections, expected.selections());
        int tokens = workload.tokens(context.rank());
        for (int token = 0; token < tokens; token++) {
            for (int rank = 0; rank < context.size(); rank++) {
                Checks.equal(
                        "goesTo(" + token + ", " + rank + ")",
                        seen.goesTo(token, rank),
                        expected.goesTo()[token][rank]);
            }
        }
        beyond("tokensToRank", () -> seen.tokensToRank(context.size()));
        beyond("tokensToHost", () -> seen.tokensToHost(expected.tokensToHost().length));
        beyond("selections", () -> seen.selections(workload.experts()));
        beyond("goesTo(token)", () -> seen.goesTo(tokens, 0));
        beyond("goesTo(rank)", () -> seen.goesTo(0, context.size()));
    }

    private static void beyond(String what, Runnable access) {
        Checks.refused(EpArgumentException.class, what + " beyond the last index", access);
    }

    private static void equal(String what, IntUnaryOperator seen, int[] expected) {
        for (int i = 0; i < expected.length; i++) {
            Checks.equal(what + "(" + i + ")", seen.applyAsInt(i), expected[i]);
        }
    }

    /** After a first round, which warms up, rank 1 is the only rank that others wait for. */
    private static void waitStats(RankContext context, EpBuffer buffer) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, context.params())) {
            exchange.round();
            Tensor x = exchange.inputs.rows(context.rank());
            Tensor ids = exchange.inputs.ids(context.rank(), DataType.INT32);
            LateRank.isCharged(
                    context,
                    exchange.arena,
                    waited -> buffer.dispatch(
                            DispatchRequest.builder(x, ids).waitStats(waited).build()));
            DispatchHandle handle = exchange.dispatch().handle();
            Tensor y = exchange.arena.allocate(DataType.BF16, handle.rows(), exchange.workload.hidden());
            LateRank.isCharged(
                    context,
                    exchange.arena,
                    waited -> buffer.combine(
                            CombineRequest.builder(y, handle).waitStats(waited).build()));
        }
    }

    private static void staleDispatch(RankContext context, EpBuffer buffer) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, context.params())) {
            DispatchResult first = exchange.dispatch();
            DispatchResult second = exchange.dispatch();
            Checks.stale("x() of the first result", first::x);
            Checks.stale("sourceRanks() of the first result", first::sourceRanks);
            Checks.stale("rowsPerExpert() of the first result", first::rowsPerExpert);
            exchange.verify(exchange.combine(first.handle()));
            exchange.verify(exchange.dispatch());
            Checks.stale("x() of the second result", second::x);
        }
    }

    private static void staleCombine(RankContext context, EpBuffer buffer) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, context.params())) {
            DispatchResult sent = exchange.dispatch();
            CombineResult first = exchange.combine(sent.handle());
            CombineResult second = exchange.combine(sent.handle());
            Checks.stale("after one more combine, out() of the first one", first::out);
            Checks.stale("receive() of a high-throughput combine", second::receive);
        }
    }
}
