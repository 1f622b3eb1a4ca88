package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.LowLatencyHandle;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Bf16;
import org.ep4j.tck.oracle.OutputRows;
import org.ep4j.tck.oracle.Workload;

/** Low latency besides {@link Rounds}: sending and receiving as two calls, how long results live, fused sums, waiting statistics. */
final class LowLatencyScenario implements Scenario {
    private static final LowLatencyOptions HOOK = LowLatencyOptions.of(Params.parse("hook"));
    private static final LowLatencyOptions PLAIN = LowLatencyOptions.of(Params.parse(""));
    private static final List<Duration> LATE =
            List.of(Duration.ofMillis(300), Duration.ofMillis(900), Duration.ofMillis(2500), Duration.ofSeconds(10));

    private static final int LATE_RANK = 1;

    @Override
    public void run(RankContext context) {
        Setup setup = Setup.of(context);
        EpBuffer buffer = context.buffer(setup.shape());
        switch (context.params().text("case", "")) {
            case "overlap" -> overlap(context, buffer, setup);
            case "two" -> two(context, buffer, setup);
            case "closed" -> closed(context, buffer, setup);
            case "misuse" -> misuse(context, buffer, setup);
            case "fused" -> fused(context, buffer, setup);
            case "wait-stats" -> waitStats(context, buffer, setup);
            case "stale-dispatch" -> staleDispatch(context, buffer, setup);
            case "stale-combine" -> staleCombine(context, buffer, setup);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    /** The ranks meet between sending and receiving, so sending must not wait for a receiver. */
    private static void overlap(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, setup.workload(), HOOK)) {
            LowLatencyDispatchResult sent = exchange.send();
            context.meet();
            sent.receive();
            Checks.that(sent.event().isDone(), "the event of the dispatch is not done after receive()");
            exchange.verify(sent);
            CombineResult back = exchange.sendBack(sent.handle(), exchange.outputs());
            context.meet();
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
            CombineResult firstBack = one.sendBack(first.handle(), one.outputs());
            CombineResult secondBack = two.sendBack(second.handle(), two.outputs());
            firstBack.receive();
            secondBack.receive();
            one.verify(firstBack);
            two.verify(secondBack);
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
            CombineResult secondBack = two.sendBack(second.handle(), two.outputs());
            second.handle().close();
            LowLatencyDispatchResult third = three.send();
            third.receive();
            secondBack.receive();
            two.verify(secondBack);
            three.verify(third);
            CombineResult thirdBack = three.sendBack(third.handle(), three.outputs());
            thirdBack.receive();
            three.verify(thirdBack);
        }
    }

    private static void misuse(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange hooked = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK);
                LowLatencyExchange plain = new LowLatencyExchange(context, buffer, setup.workload(2), PLAIN)) {
            LowLatencyDispatchResult sent = hooked.dispatch();
            Checks.refused(EpStateException.class, "a second receive() of a dispatch", sent::receive);
            CombineResult back = hooked.combine(sent.handle(), hooked.outputs());
            Checks.refused(EpStateException.class, "a second receive() of a combine", back::receive);
            LowLatencyDispatchResult unhooked = plain.dispatch();
            Checks.refused(
                    EpStateException.class,
                    "receive() of a dispatch whose request did not ask for the hook",
                    unhooked::receive);
            CombineResult unhookedBack = plain.combine(unhooked.handle(), plain.outputs());
            Checks.refused(
                    EpStateException.class,
                    "receive() of a combine whose request did not ask for the hook",
                    unhookedBack::receive);
            plain.verify(unhookedBack);
        }
    }

    /**
     * Both selections of a token bring the same row, with weights w and -w: what is left is the rounding error of the first
     * product, and zero where products are rounded before they are added.
     */
    private static void fused(RankContext context, EpBuffer buffer, Setup setup) {
        Workload workload = setup.workload();
        int rank = context.rank();
        try (LowLatencyExchange exchange =
                new LowLatencyExchange(context, buffer, workload, LowLatencyOptions.of(context.params()))) {
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

    /**
     * Rank 1 comes late: the others must book the time on it, on top of what the tensor held, and never more than the call took. On a busy
     * machine any rank may be kept waiting for some hundred milliseconds, so what is wrong once is measured again with a delay that outweighs
     * that; all ranks decide alike. Each delay is below the timeout of the kit's groups.
     */
    private static void waitStats(RankContext context, EpBuffer buffer, Setup setup) {
        Workload workload = setup.workload();
        try (LowLatencyExchange exchange =
                new LowLatencyExchange(context, buffer, workload, LowLatencyOptions.of(context.params()))) {
            // The first round warms up, so that what is waited for in the second is rank 1 and nothing else.
            exchange.round();
            Optional<String> wrong = Optional.empty();
            for (Duration late : LATE) {
                wrong = measure(context, buffer, exchange, late);
                if (context.count(wrong.isEmpty()) == context.size()) {
                    return;
                }
            }
            Checks.that(wrong.isEmpty(), wrong.orElse(""));
        }
    }

    /** What is wrong with the statistics of a dispatch that rank 1 begins late. */
    private static Optional<String> measure(
            RankContext context, EpBuffer buffer, LowLatencyExchange exchange, Duration late) {
        Tensor waited = exchange.arena.longs(new int[context.size()], context.size());
        Tensor x = exchange.inputs.rows(context.rank());
        Tensor ids = exchange.inputs.ids(context.rank(), DataType.INT32);
        context.meet();
        if (context.isRank(LATE_RANK)) {
            context.sleep(late);
        }
        long start = System.nanoTime();
        buffer.lowLatencyDispatch(
                LowLatencyDispatchRequest.builder(x, ids).waitStats(waited).build());
        long took = System.nanoTime() - start;
        long[] seen = exchange.arena.device().longs(waited);
        long half = late.toNanos() / 2;
        for (int rank = 0; rank < seen.length; rank++) {
            boolean waitsForIt = rank == LATE_RANK && !context.isRank(LATE_RANK);
            boolean right = waitsForIt ? seen[rank] >= half : seen[rank] >= 0 && seen[rank] < half;
            if (!right || seen[rank] > took) {
                return Optional.of("waitStats[" + rank + "] is " + seen[rank] + " ns, must be "
                        + (waitsForIt ? "from " + half + " to " + took : "from 0 to " + Math.min(half - 1, took))
                        + " ns: the call took " + took + " ns, and rank " + LATE_RANK + " was " + late.toMillis()
                        + " ms late");
            }
        }
        return Optional.empty();
    }

    private static void staleDispatch(RankContext context, EpBuffer buffer, Setup setup) {
        LowLatencyOptions options = LowLatencyOptions.of(context.params());
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), options);
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), options)) {
            LowLatencyDispatchResult first = one.dispatch();
            LowLatencyDispatchResult second = two.dispatch();
            one.verify(first);
            two.verify(second);
            LowLatencyDispatchResult third = one.dispatch();
            Checks.stale("after two more dispatches, x() of the first result", first::x);
            Checks.stale("after two more dispatches, rowsPerExpert() of the first result", first::rowsPerExpert);
            two.verify(second);
            one.verify(third);
            two.verify(two.combine(second.handle(), two.outputs()));
            one.verify(one.combine(first.handle(), one.outputs()));
        }
    }

    private static void staleCombine(RankContext context, EpBuffer buffer, Setup setup) {
        LowLatencyOptions options = LowLatencyOptions.of(context.params());
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), options);
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), options)) {
            LowLatencyDispatchResult first = one.dispatch();
            LowLatencyDispatchResult second = two.dispatch();
            CombineResult firstBack = one.combine(first.handle(), one.outputs());
            CombineResult secondBack = two.combine(second.handle(), two.outputs());
            one.verify(firstBack);
            two.verify(secondBack);
            CombineResult thirdBack = one.combine(first.handle(), one.outputs());
            Checks.stale("after two more combines, out() of the first one", firstBack::out);
            two.verify(secondBack);
            one.verify(thirdBack);
        }
    }
}
