package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.CombineResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** Sending and receiving as two calls. */
final class HookScenario implements Scenario {
    private static final LowLatencyOptions HOOK = LowLatencyOptions.of(Params.parse("hook"));
    private static final LowLatencyOptions PLAIN = LowLatencyOptions.of(Params.parse(""));

    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        switch (context.params().text("case", "")) {
            case "overlap" -> overlap(context, buffer, setup);
            case "two" -> two(context, buffer, setup);
            case "closed" -> closed(context, buffer, setup);
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
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK, Set.of());
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), HOOK, Set.of())) {
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
        try (LowLatencyExchange one = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK, Set.of());
                LowLatencyExchange two = new LowLatencyExchange(context, buffer, setup.workload(2), HOOK, Set.of());
                LowLatencyExchange three = new LowLatencyExchange(context, buffer, setup.workload(3), HOOK, Set.of())) {
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
        try (LowLatencyExchange hooked = new LowLatencyExchange(context, buffer, setup.workload(1), HOOK, Set.of());
                LowLatencyExchange plain =
                        new LowLatencyExchange(context, buffer, setup.workload(2), PLAIN, Set.of())) {
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
}
