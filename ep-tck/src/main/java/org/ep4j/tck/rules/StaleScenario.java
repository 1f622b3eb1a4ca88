package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.CombineResult;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Workload;

/** How long results live. */
final class StaleScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        switch (context.params().text("case", "")) {
            case "ht-dispatch" -> highThroughputDispatch(context, buffer, setup.workload());
            case "ht-combine" -> highThroughputCombine(context, buffer, setup.workload());
            case "ll-dispatch" -> lowLatencyDispatch(context, buffer, setup);
            case "ll-combine" -> lowLatencyCombine(context, buffer, setup);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static void highThroughputDispatch(RankContext context, EpBuffer buffer, Workload workload) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(
                context, buffer, workload, HighThroughputOptions.of(context.params()), Set.of())) {
            DispatchResult first = exchange.dispatch();
            DispatchResult second = exchange.dispatch();
            stale("x() of the first result", first::x);
            stale("sourceRanks() of the first result", first::sourceRanks);
            stale("rowsPerExpert() of the first result", first::rowsPerExpert);
            exchange.combine(first.handle());
            exchange.verifier()
                    .dispatch(
                            exchange.dispatch(),
                            exchange.table(),
                            HighThroughputOptions.of(context.params()).carried());
            stale("x() of the second result", second::x);
        }
    }

    private static void highThroughputCombine(RankContext context, EpBuffer buffer, Workload workload) {
        try (HighThroughputExchange exchange = new HighThroughputExchange(
                context, buffer, workload, HighThroughputOptions.of(context.params()), Set.of())) {
            DispatchResult sent = exchange.dispatch();
            CombineResult first = exchange.combine(sent.handle(), workload.randomOutputs());
            CombineResult second = exchange.combine(sent.handle(), workload.randomOutputs());
            stale("after one more combine, out() of the first one", first::out);
            stale("receive() of a high-throughput combine", second::receive);
        }
    }

    private static void lowLatencyDispatch(RankContext context, EpBuffer buffer, Setup setup) {
        LowLatencyOptions options = LowLatencyOptions.of(context.params());
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), options, Set.of());
                LowLatencyExchange two =
                        new LowLatencyExchange(context, buffer, setup.workload(2), options, Set.of())) {
            LowLatencyDispatchResult first = one.dispatch();
            LowLatencyDispatchResult second = two.dispatch();
            one.verify(first);
            two.verify(second);
            LowLatencyDispatchResult third = one.dispatch();
            stale("after two more dispatches, x() of the first result", first::x);
            stale("after two more dispatches, rowsPerExpert() of the first result", first::rowsPerExpert);
            two.verify(second);
            one.verify(third);
            two.verify(two.combine(second.handle(), two.outputs()));
            one.verify(one.combine(first.handle(), one.outputs()));
        }
    }

    private static void lowLatencyCombine(RankContext context, EpBuffer buffer, Setup setup) {
        LowLatencyOptions options = LowLatencyOptions.of(context.params());
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), options, Set.of());
                LowLatencyExchange two =
                        new LowLatencyExchange(context, buffer, setup.workload(2), options, Set.of())) {
            LowLatencyDispatchResult first = one.dispatch();
            LowLatencyDispatchResult second = two.dispatch();
            CombineResult firstBack = one.combine(first.handle(), one.outputs());
            CombineResult secondBack = two.combine(second.handle(), two.outputs());
            one.verify(firstBack);
            two.verify(secondBack);
            CombineResult thirdBack = one.combine(first.handle(), one.outputs());
            stale("after two more combines, out() of the first one", firstBack::out);
            two.verify(secondBack);
            one.verify(thirdBack);
        }
    }

    private static void stale(String what, Runnable access) {
        EpStateException refused = Checks.refused(EpStateException.class, what, access);
        Checks.that(!String.valueOf(refused.getMessage()).isBlank(), what + " is refused without a message");
    }
}
