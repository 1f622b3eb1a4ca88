package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Misuse by a program, which must get an exception in time, or the right rows. */
final class MisuseScenario implements Scenario {
    private static final Params PARAMS = Params.parse("");
    private static final Params HOOK = Params.parse("hook");

    /** Time after which a call that has not returned counts as waiting for other ranks. */
    private static final Duration BEGUN = Duration.ofMillis(200);

    /** Longest time from an interrupt to the end of the call. */
    private static final Duration NOTICED = Duration.ofSeconds(2);

    /** Longest time to the end of a call. */
    private static final Duration LIMIT = Duration.ofSeconds(60);

    @Override
    public void run(RankContext context) {
        switch (context.params().text("case", "")) {
            case "third-send" -> thirdSend(context);
            case "combine-unreceived" -> combineUnreceived(context);
            case "receive-after-recover" -> receiveAfterRecover(context);
            case "receive-after-close" -> receiveAfterClose(context);
            case "interrupt" -> interrupt(context);
            case "close-waiting" -> closeWaiting(context);
            case "close-group-waiting" -> closeGroupWaiting(context);
            case "two-threads" -> twoThreads(context);
            case "mask-differs" -> maskDiffers(context);
            case "event-after-close" -> eventAfterClose(context);
            case "closed-queued" -> closedQueued(context);
            case "closed-running" -> closedRunning(context);
            case "closed-between" -> closedBetween(context);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static Setup setup(RankContext context) {
        return new Setup(context, PARAMS);
    }

    private static HighThroughputExchange plain(RankContext context, EpBuffer buffer) {
        return new HighThroughputExchange(context, buffer, PARAMS);
    }

    private static Duration begun() {
        return Patience.scaled(BEGUN);
    }

    private static LowLatencyExchange hooked(RankContext context, EpBuffer buffer, int seed) {
        return new LowLatencyExchange(context, buffer, setup(context).workload(seed), HOOK);
    }

    /** A call in a thread of its own. */
    static final class Call<T> {
        private final CompletableFuture<T> end = new CompletableFuture<>();
        private final CountDownLatch begun = new CountDownLatch(1);
        private final Thread thread;

        Call(Supplier<T> work) {
            thread = new Thread(
                    () -> {
                        begun.countDown();
                        try {
                            end.complete(work.get());
                        } catch (Throwable e) {
                            end.completeExceptionally(e);
                        }
                    },
                    "tck-call");
            thread.setDaemon(true);
            thread.start();
        }

        /** Starts a call, and returns when it waits for other ranks. */
        static <T> Call<T> waiting(RankContext context, Supplier<T> work) {
            Call<T> call = new Call<>(work);
            try {
                Checks.that(
                        call.begun.await(Checks.patience().toNanos(), TimeUnit.NANOSECONDS), "a thread does not start");
            } catch (InterruptedException e) {
                throw new AssertionError("interrupted, because the ranks exceeded the time limit of this rule", e);
            }
            context.sleep(begun());
            Checks.that(!call.end.isDone(), "a dispatch ended although rank 0 has not called it");
            return call;
        }

        boolean endsWithin(Duration time) {
            try {
                end.get(Patience.scaled(time).toNanos(), TimeUnit.NANOSECONDS);
                return true;
            } catch (ExecutionException e) {
                return true;
            } catch (TimeoutException e) {
                return false;
            } catch (InterruptedException e) {
                throw new AssertionError("interrupted, because the ranks exceeded the time limit of this rule", e);
            }
        }

        /** Returns what the call threw; empty if it returned. */
        Optional<Throwable> failure(String what) {
            Checks.that(endsWithin(LIMIT), what + " does not end");
            return Optional.ofNullable(end.handle((result, e) -> e).join());
        }

        <E extends EpException> void refused(Class<E> type, String what) {
            Throwable failure =
                    failure(what).orElseThrow(() -> new AssertionError(what + " must fail, but has returned"));
            Checks.that(
                    type.isInstance(failure),
                    what + " must end in " + type.getSimpleName() + ", but ended in " + failure);
        }

        T result(String what) {
            failure(what).ifPresent(e -> {
                throw new AssertionError(what + " must return, but threw " + e, e);
            });
            return end.join();
        }
    }

    private static void thirdSend(RankContext context) {
        EpBuffer buffer = setup(context).buffer();
        try (LowLatencyExchange one = hooked(context, buffer, 1);
                LowLatencyExchange two = hooked(context, buffer, 2);
                LowLatencyExchange three = hooked(context, buffer, 3)) {
            LowLatencyDispatchResult first = one.send();
            LowLatencyDispatchResult second = two.send();
            Checks.refused(
                    EpStateException.class, "a third send, while the first one is not yet received,", three::send);
            first.receive();
            second.receive();
            one.verify(first);
            two.verify(second);
            three.verify(three.dispatch());
        }
    }

    private static void combineUnreceived(RankContext context) {
        EpBuffer buffer = setup(context).buffer();
        try (LowLatencyExchange exchange = hooked(context, buffer, 1)) {
            LowLatencyDispatchResult sent = exchange.send();
            Checks.refused(
                    EpStateException.class,
                    "a combine of rows that were not received",
                    () -> exchange.sendBack(sent.handle()));
            sent.receive();
            exchange.verify(sent);
            exchange.verify(exchange.combine(sent.handle()));
        }
    }

    private static void receiveAfterRecover(RankContext context) {
        EpBuffer buffer = setup(context).buffer(context.newGroup(Map.of()));
        try (LowLatencyExchange exchange = hooked(context, buffer, 1)) {
            LowLatencyDispatchResult sent = exchange.send();
            context.barrier();
            buffer.recover(Checks.patience());
            Checks.refused(EpStateException.class, "receive() after the buffer was recovered", sent::receive);
            LowLatencyDispatchResult again = exchange.dispatch();
            exchange.verify(again);
            exchange.verify(exchange.combine(again.handle()));
        }
    }

    private static void receiveAfterClose(RankContext context) {
        EpBuffer buffer = context.group().createBuffer(setup(context).shape());
        try (LowLatencyExchange exchange = hooked(context, buffer, 1)) {
            LowLatencyDispatchResult sent = exchange.send();
            context.barrier();
            buffer.close();
            Checks.refused(EpStateException.class, "receive() after the buffer was closed", sent::receive);
        }
    }

    /** All ranks but rank 0 call a dispatch, and are interrupted while they wait for rank 0. */
    private static void interrupt(RankContext context) {
        EpBuffer buffer = setup(context).buffer(context.newGroup(Map.of()));
        HighThroughputExchange.run(context, buffer, PARAMS);
        try (HighThroughputExchange exchange = plain(context, buffer)) {
            Optional<Call<DispatchResult>> call =
                    context.isRank(0) ? Optional.empty() : Optional.of(Call.waiting(context, exchange::dispatch));
            call.ifPresent(one -> one.thread.interrupt());
            boolean goesOn = call.isPresent() && !call.get().endsWithin(NOTICED);
            if (context.count(goesOn) == context.size() - 1) {
                // An interrupt cannot cancel work of a GPU.
                Checks.that(
                        GpuDevice.isGpu(buffer.group().device()),
                        "a dispatch on the host goes on after its thread was interrupted");
                exchange.verify(call.isPresent() ? call.get().result("the dispatch") : exchange.dispatch());
            } else {
                call.ifPresent(one -> one.refused(EpException.class, "a dispatch that was interrupted"));
                buffer.recover(Checks.patience());
            }
        }
        HighThroughputExchange.run(context, buffer, PARAMS);
    }

    private static void closeWaiting(RankContext context) {
        EpBuffer buffer = context.group().createBuffer(setup(context).shape());
        try (HighThroughputExchange exchange = plain(context, buffer)) {
            closeWhileOthersWait(context, buffer, exchange, buffer::close);
        }
        HighThroughputExchange.run(context, setup(context).buffer(), PARAMS);
    }

    private static void closeGroupWaiting(RankContext context) {
        EpGroup group = context.newGroup(Map.of());
        EpBuffer buffer = group.createBuffer(setup(context).shape());
        // Closing the group's device frees the memory of the exchange, too.
        closeWhileOthersWait(context, buffer, plain(context, buffer), group::close);
    }

    private static void closeWhileOthersWait(
            RankContext context, EpBuffer buffer, HighThroughputExchange exchange, Runnable close) {
        HighThroughputExchange.run(context, buffer, PARAMS);
        if (!context.isRank(0)) {
            Call<DispatchResult> call = Call.waiting(context, exchange::dispatch);
            close.run();
            call.refused(EpException.class, "a dispatch that waits while its buffer is closed");
        }
        context.barrier();
        close.run();
    }

    /** Dispatches of two threads of a rank may pair with those of either thread of another rank, so all carry the same rows. */
    private static void twoThreads(RankContext context) {
        EpBuffer buffer = setup(context).buffer();
        List<Call<DispatchResult>> calls = new ArrayList<>();
        for (int thread = 0; thread < 2; thread++) {
            HighThroughputExchange exchange = context.owned(plain(context, buffer));
            calls.add(new Call<>(() -> {
                DispatchResult result = exchange.dispatch();
                for (int i = 0; i < 5; i++) {
                    try {
                        exchange.verify(result);
                    } catch (EpStateException stale) {
                        // The other thread's dispatch has reused the memory.
                        Checks.mentions(stale, "result");
                    }
                    result = exchange.dispatch();
                }
                return result;
            }));
        }
        for (Call<DispatchResult> call : calls) {
            call.result("a thread with a buffer that another thread uses");
        }
        HighThroughputExchange.run(context, buffer, PARAMS);
    }

    private static void maskDiffers(RankContext context) {
        EpBuffer buffer = setup(context).buffer(context.newGroup(Map.of()));
        HighThroughputExchange.run(context, buffer, PARAMS);
        context.barrier();
        int left = context.size() - 1;
        if (context.isRank(0)) {
            buffer.mask(left);
        }
        try (HighThroughputExchange exchange = plain(context, buffer)) {
            exchange.timeout(Patience.scaled(Duration.ofSeconds(2)));
            context.barrier();
            Checks.refused(
                    EpException.class, "a dispatch in which the masked ranks differ between ranks", exchange::dispatch);
            context.barrier();
        }
    }

    private static EpBuffer asynchronous(EpBuffer buffer, Arena arena) {
        return buffer.withOptions(OpOptions.DEFAULT
                .onStream(Exchange.asyncStream(0, arena, buffer.group()))
                .asynchronous());
    }

    private static DispatchRequest.Builder request(RankContext context, Inputs inputs) {
        return DispatchRequest.builder(inputs.rows(context.rank()), inputs.ids(context.rank(), DataType.INT32))
                .topkWeights(inputs.weights(context.rank()));
    }

    private static void eventAfterClose(RankContext context) {
        EpBuffer buffer = context.group().createBuffer(setup(context).shape());
        HighThroughputExchange.run(context, buffer, PARAMS);
        if (!context.isRank(0)) {
            Arena arena = context.arena();
            Inputs inputs = new Inputs(arena, setup(context).workload());
            DispatchResult result = asynchronous(buffer, arena)
                    .dispatch(request(context, inputs).worstCase().build());
            context.sleep(begun());
            buffer.close();
            Checks.refused(
                    EpException.class,
                    "the event of an operation that ended because its buffer was closed",
                    () -> result.event().await(Checks.patience()));
            Checks.refused(EpException.class, "x() of a closed buffer's result", result::x);
        }
        context.barrier();
        buffer.close();
    }

    private static void closedQueued(RankContext context) {
        EpBuffer buffer = setup(context).buffer();
        fromClosedMemory(context, buffer, (exchange, arena, closed) -> {
            DispatchResult first = asynchronous(buffer, context.arena())
                    .dispatch(request(context, exchange.inputs).build());
            DispatchResult second = asynchronous(buffer, context.arena())
                    .dispatch(request(context, closed).build());
            arena.close();
            context.barrier();
            first.event().await(Checks.patience());
            Checks.refused(
                    EpStateException.class,
                    "an operation whose rows are in memory that was closed before the operation began",
                    () -> second.event().await(Checks.patience()));
        });
    }

    /** Calls that read rows from an arena, which they close before the barrier. */
    private interface Closing {
        void run(HighThroughputExchange exchange, Arena arena, Inputs closed);
    }

    /** Runs dispatches whose rows are in memory that is closed before rank 0 calls its own. */
    private static void fromClosedMemory(RankContext context, EpBuffer buffer, Closing others) {
        try (HighThroughputExchange exchange = plain(context, buffer)) {
            if (context.isRank(0)) {
                context.barrier();
                exchange.verify(exchange.dispatch());
            } else {
                Arena arena = new Arena(context.group().device());
                others.run(exchange, arena, new Inputs(arena, setup(context).workload()));
            }
            context.barrier();
        }
        HighThroughputExchange.run(context, buffer, PARAMS);
    }

    private static void closedBetween(RankContext context) {
        EpBuffer buffer = setup(context).buffer();
        try (LowLatencyExchange exchange = hooked(context, buffer, 1)) {
            for (int round = 0; round < 3; round++) {
                LowLatencyDispatchResult sent;
                try (Arena arena = new Arena(context.group().device())) {
                    Inputs closed = new Inputs(arena, setup(context).workload(1));
                    sent = buffer.lowLatencyDispatch(LowLatencyDispatchRequest.builder(
                                    closed.rows(context.rank()), closed.ids(context.rank(), DataType.INT32))
                            .receiveHook()
                            .build());
                }
                sent.receive();
                exchange.verify(sent);
            }
        }
    }

    private static void closedRunning(RankContext context) {
        EpBuffer buffer = setup(context).buffer();
        HighThroughputExchange.run(context, buffer, PARAMS);
        fromClosedMemory(context, buffer, (exchange, arena, closed) -> {
            DispatchResult result = asynchronous(buffer, context.arena())
                    .dispatch(request(context, closed).build());
            context.sleep(begun());
            arena.close();
            context.barrier();
            result.event().await(Checks.patience());
            exchange.verify(result);
        });
    }
}
