package org.ep4j.tck.rules;

import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Bf16;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Low latency besides {@link Rounds}: sending and receiving as two calls, how long results live, fused sums, statistics of waiting. */
final class LowLatencyScenario implements Scenario {
    private static final Params HOOK = Params.parse("hook");
    private static final Params QUEUED = Params.parse("async hook");
    private static final Params PLAIN = Params.parse("");

    @Override
    public void run(RankContext context) {
        Setup setup = Setup.of(context);
        EpBuffer buffer = setup.buffer();
        switch (context.params().text("case", "")) {
            case "overlap" -> overlap(context, buffer, setup);
            case "two" -> two(context, buffer, setup);
            case "queued" -> queued(context, buffer, setup);
            case "unblocked" -> unblocked(context, buffer, setup);
            case "closed" -> closed(context, buffer, setup);
            case "misuse" -> misuse(context, buffer, setup);
            case "fused" -> fused(context, buffer);
            case "wait-stats" -> waitStats(context, buffer);
            case "stale-dispatch" -> staleDispatch(context, buffer, setup);
            case "stale-combine" -> staleCombine(context, buffer, setup);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    /** All ranks have sent before any receives, so sending must not wait for a receiver. */
    private static void overlap(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, setup.workload(), HOOK)) {
            LowLatencyDispatchResult sent = exchange.send();
            context.barrier();
            sent.receive();
            Checks.that(sent.event().isDone(), "the event of the dispatch is not done after receive()");
            exchange.verify(sent);
            CombineResult back = exchange.sendBack(sent.handle());
            context.barrier();
            back.receive();
            Checks.that(back.event().isDone(), "the event of the combine is not done after receive()");
            exchange.verify(back);
        }
    }

    /** Two micro-batches in flight at once, as decoding overlaps them. */
    private static void two(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK);
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), HOOK)) {
            LowLatencyDispatchResult first = one.send();
            LowLatencyDispatchResult second = two.send();
            first.receive();
            second.receive();
            one.verify(first);
            two.verify(second);
            CombineResult firstBack = one.sendBack(first.handle());
            CombineResult secondBack = two.sendBack(second.handle());
            firstBack.receive();
            secondBack.receive();
            one.verify(firstBack);
            two.verify(secondBack);
        }
    }

    /** Two micro-batches in turn, whose results are read when everything is queued. */
    private static void queued(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), QUEUED);
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), QUEUED)) {
            LowLatencyDispatchResult first = one.send();
            LowLatencyDispatchResult second = two.send();
            first.receive();
            CombineResult firstBack = one.sendBack(first.handle());
            second.receive();
            CombineResult secondBack = two.sendBack(second.handle());
            firstBack.receive();
            secondBack.receive();
            one.await(first.event());
            two.await(second.event());
            one.await(firstBack.event());
            two.await(secondBack.event());
            one.verify(first);
            two.verify(second);
            one.verify(firstBack);
            two.verify(secondBack);
        }
    }

    /** Rank 1 sends when the others have received: a call that waits for its rows would wait until the deadline. */
    private static void unblocked(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, setup.workload(), QUEUED)) {
            boolean late = context.isRank(LateRank.LATE_RANK);
            if (late) {
                context.barrier();
            }
            LowLatencyDispatchResult sent = exchange.send();
            EpEvent before = sent.event();
            sent.receive();
            if (!late) {
                context.barrier();
            }
            exchange.await(before);
            exchange.await(sent.event());
            exchange.verify(sent);
            if (late) {
                context.barrier();
            }
            CombineResult back = exchange.sendBack(sent.handle());
            back.receive();
            if (!late) {
                context.barrier();
            }
            exchange.await(back.event());
            exchange.verify(back);
        }
    }

    /** Handles are closed between the halves, before a dispatch that could use their memory again. */
    private static void closed(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK);
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), HOOK);
                LowLatencyExchange three = new LowLatencyExchange(context, buffer, setup.workload(3), HOOK)) {
            LowLatencyDispatchResult first = one.send();
            first.handle().close();
            LowLatencyDispatchResult second = two.send();
            first.receive();
            second.receive();
            one.verify(first);
            two.verify(second);
            CombineResult secondBack = two.sendBack(second.handle());
            second.handle().close();
            LowLatencyDispatchResult third = three.send();
            third.receive();
            secondBack.receive();
            two.verify(secondBack);
            three.verify(third);
            CombineResult thirdBack = three.sendBack(third.handle());
            thirdBack.receive();
            three.verify(thirdBack);
        }
    }

    private static void misuse(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange hooked = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK);
                LowLatencyExchange plain = new LowLatencyExchange(context, buffer, setup.workload(2), PLAIN)) {
            LowLatencyDispatchResult sent = hooked.dispatch();
            Checks.refused(EpStateException.class, "a second receive() of a dispatch", sent::receive);
            CombineResult back = hooked.combine(sent.handle());
            Checks.refused(EpStateException.class, "a second receive() of a combine", back::receive);
            LowLatencyDispatchResult unhooked = plain.dispatch();
            Checks.refused(
                    EpStateException.class,
                    "receive() of a dispatch whose request did not ask for the hook",
                    unhooked::receive);
            CombineResult unhookedBack = plain.combine(unhooked.handle());
            Checks.refused(
                    EpStateException.class,
                    "receive() of a combine whose request did not ask for the hook",
                    unhookedBack::receive);
            plain.verify(unhookedBack);
        }
    }

    /**
     * Both selections of a token return the same row, with weights w and -w: the sum is the rounding error of the first product, and
     * zero where products are rounded before they are added.
     */
    private static void fused(RankContext context, EpBuffer buffer) {
        try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, context.params())) {
            Workload workload = exchange.workload;
            int rank = context.rank();
            LowLatencyHandle handle = exchange.dispatch().handle();
            float[] weights = workload.weights(rank);
            for (int i = 1; i < weights.length; i += 2) {
                weights[i] = -weights[i - 1];
            }
            OutputRows rows = workload.echoOutputs();
            Tensor x = exchange.arena.allocate(
                    DataType.BF16, exchange.table.localExperts(), buffer.maxLowLatencyRows(), workload.hidden());
            exchange.inputs.outputs(x, exchange.table, rows);
            Tensor out = buffer.lowLatencyCombine(LowLatencyCombineRequest.builder(x, handle)
                            .topkWeights(exchange.arena.floats(weights, workload.tokens(rank), 2))
                            .build())
                    .out();
            short[] row = new short[workload.hidden()];
            exchange.arena.readShorts(out, workload.tokens(rank), (token, seen) -> {
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

    /** After a first round, which warms up, rank 1 is the only rank that others wait for. */
    private static void waitStats(RankContext context, EpBuffer buffer) {
        try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, context.params())) {
            exchange.round();
            Tensor x = exchange.inputs.rows(context.rank());
            Tensor ids = exchange.inputs.ids(context.rank(), DataType.INT32);
            LateRank.isCharged(
                    context,
                    exchange.arena,
                    waited -> buffer.lowLatencyDispatch(LowLatencyDispatchRequest.builder(x, ids)
                            .waitStats(waited)
                            .build()));
        }
    }

    private static void staleDispatch(RankContext context, EpBuffer buffer, Setup setup) {
        Params params = context.params();
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), params);
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), params)) {
            LowLatencyDispatchResult first = one.dispatch();
            LowLatencyDispatchResult second = two.dispatch();
            one.verify(first);
            two.verify(second);
            LowLatencyDispatchResult third = one.dispatch();
            Checks.stale("after two more dispatches, x() of the first result", first::x);
            Checks.stale("after two more dispatches, rowsPerExpert() of the first result", first::rowsPerExpert);
            two.verify(second);
            one.verify(third);
            two.verify(two.combine(second.handle()));
            one.verify(one.combine(first.handle()));
        }
    }

    private static void staleCombine(RankContext context, EpBuffer buffer, Setup setup) {
        Params params = context.params();
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), params);
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), params)) {
            LowLatencyDispatchResult first = one.dispatch();
            LowLatencyDispatchResult second = two.dispatch();
            CombineResult firstBack = one.combine(first.handle());
            CombineResult secondBack = two.combine(second.handle());
            one.verify(firstBack);
            two.verify(secondBack);
            CombineResult thirdBack = one.combine(first.handle());
            Checks.stale("after two more combines, out() of the first one", firstBack::out);
            two.verify(secondBack);
            one.verify(thirdBack);
        }
    }
}
