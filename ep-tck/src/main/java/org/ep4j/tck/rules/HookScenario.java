package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.EpBuffer;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** Sending and receiving as two calls. */
final class HookScenario implements Scenario {
    private static final int LAYERS = 3;
    private static final LowLatencyOptions HOOK = LowLatencyOptions.of(Params.parse("hook"));
    private static final LowLatencyOptions QUEUED = LowLatencyOptions.of(Params.parse("hook async"));
    private static final LowLatencyOptions PLAIN = LowLatencyOptions.of(Params.parse(""));

    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        switch (context.params().text("case", "")) {
            case "overlap" -> overlap(context, buffer, setup);
            case "two" -> two(context, buffer, setup);
            case "queued" -> queued(context, buffer, setup);
            case "turns" -> turns(context, buffer, setup);
            case "misuse" -> misuse(context, buffer, setup);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    /** The ranks meet between sending and receiving, so sending must not wait for a receiver. */
    private static void overlap(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange exchange = new LowLatencyExchange(context, buffer, setup.workload(), HOOK, Set.of())) {
            LowLatencyDispatchResult sent = exchange.send();
            context.meet();
            sent.receive();
            Checks.that(sent.event().isDone(), "the event is not done after receive()");
            exchange.verify(sent);
            LowLatencyCombineResult back = exchange.sendBack(sent.handle(), exchange.outputs());
            context.meet();
            back.receive();
            Checks.that(back.event().isDone(), "the event of the combine is not done after receive()");
            exchange.verify(back);
        }
    }

    /** Two micro-batches in flight at once, as decoding overlaps them. */
    private static void two(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK, Set.of());
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), HOOK, Set.of())) {
            LowLatencyDispatchResult first = one.send();
            LowLatencyDispatchResult second = two.send();
            first.receive();
            second.receive();
            one.verify(first);
            two.verify(second);
            LowLatencyCombineResult firstBack = one.sendBack(first.handle(), one.outputs());
            LowLatencyCombineResult secondBack = two.sendBack(second.handle(), two.outputs());
            firstBack.receive();
            secondBack.receive();
            one.verify(firstBack);
            two.verify(secondBack);
        }
    }

    /** The first rank is through with both calls before the others begin: neither may wait for them. */
    private static void queued(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange exchange =
                new LowLatencyExchange(context, buffer, setup.workload(), QUEUED, Set.of())) {
            meetUnlessFirst(context);
            LowLatencyDispatchResult sent = exchange.send();
            EpEvent whole = sent.event();
            EpEvent received = sent.receive();
            meetIfFirst(context);
            received.await(Checks.patience());
            whole.await(Checks.patience());
            Checks.that(
                    whole.isDone() && sent.event().isDone(),
                    "event() of the dispatch is not done although its receiving half has ended");
            exchange.verify(sent);
            meetUnlessFirst(context);
            LowLatencyCombineResult back = exchange.sendBack(sent.handle(), exchange.outputs());
            EpEvent added = back.receive();
            meetIfFirst(context);
            added.await(Checks.patience());
            exchange.verify(back);
            // Each half as the caller says.
            LowLatencyDispatchResult again = exchange.send();
            again.receive(OpOptions.DEFAULT);
            Checks.that(again.event().isDone(), "the event is not done after a receive() that is not asynchronous");
            exchange.verify(again);
        }
    }

    private static void meetUnlessFirst(RankContext context) {
        if (!context.isRank(0)) {
            context.meet();
        }
    }

    private static void meetIfFirst(RankContext context) {
        if (context.isRank(0)) {
            context.meet();
        }
    }

    /** As decoding overlaps them: rows of one batch are on their way while experts compute the other one. */
    private static void turns(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), QUEUED, Set.of());
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), QUEUED, Set.of())) {
            for (int layer = 0; layer < LAYERS; layer++) {
                LowLatencyDispatchResult first = one.send();
                EpEvent firstHere = first.receive();
                LowLatencyDispatchResult second = two.send();
                firstHere.await(Checks.patience());
                one.verify(first);
                EpEvent secondHere = second.receive();
                LowLatencyCombineResult firstBack = one.sendBack(first.handle(), one.outputs());
                secondHere.await(Checks.patience());
                two.verify(second);
                EpEvent firstAdded = firstBack.receive();
                LowLatencyCombineResult secondBack = two.sendBack(second.handle(), two.outputs());
                firstAdded.await(Checks.patience());
                one.verify(firstBack);
                secondBack.receive().await(Checks.patience());
                two.verify(secondBack);
            }
        }
    }

    private static void misuse(RankContext context, EpBuffer buffer, Setup setup) {
        try (LowLatencyExchange hooked = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK, Set.of());
                LowLatencyExchange plain =
                        new LowLatencyExchange(context, buffer, setup.workload(2), PLAIN, Set.of())) {
            LowLatencyDispatchResult sent = hooked.dispatch();
            Checks.refused(EpStateException.class, "a second receive() of a dispatch", sent::receive);
            LowLatencyCombineResult back = hooked.combine(sent.handle(), hooked.outputs());
            Checks.refused(EpStateException.class, "a second receive() of a combine", back::receive);
            LowLatencyDispatchResult unhooked = plain.dispatch();
            Checks.refused(EpStateException.class, "receive() of a dispatch without the hook", unhooked::receive);
            LowLatencyCombineResult unhookedBack = plain.combine(unhooked.handle(), plain.outputs());
            Checks.refused(EpStateException.class, "receive() of a combine without the hook", unhookedBack::receive);
            plain.verify(unhookedBack);
        }
    }
}
