package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuStream;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.rules.MisuseScenario.Call;

/**
 * Several threads of one rank. On a GPU each has a stream of its own: on one stream the ranks' operations would have to come in
 * the same order.
 */
final class ConcurrencyScenario implements Scenario {
    private static final int ROUNDS = 12;
    private static final Exchange HIGH = LifecycleScenario::highThroughput;
    private static final Exchange LOW = LifecycleScenario::lowLatency;

    /** A dispatch and a combine of one mode. */
    private interface Exchange {
        void run(RankContext context, EpBuffer buffer, Params params, long stream);
    }

    @Override
    public void run(RankContext context) {
        switch (context.params().text("case", "")) {
            case "buffers" -> {
                EpBuffer one = buffer(context, context.group(), "hidden=64");
                EpBuffer two = buffer(context, context.group(), "hidden=192");
                atOnce(
                        () -> rounds(context, one, "hidden=64", HIGH, LOW),
                        () -> rounds(context, two, "hidden=192", HIGH, LOW));
            }
            case "groups" -> {
                EpBuffer one = buffer(context, context.newGroup(Map.of()), "hidden=64");
                EpBuffer two = buffer(context, context.newGroup(Map.of()), "hidden=192");
                atOnce(
                        () -> rounds(context, one, "hidden=64", HIGH, LOW),
                        () -> rounds(context, two, "hidden=192", HIGH, LOW));
            }
            case "modes" -> {
                EpBuffer one = buffer(context, context.group(), "hidden=64");
                EpBuffer two = buffer(context, context.group(), "hidden=64");
                atOnce(() -> rounds(context, one, "hidden=64", HIGH), () -> rounds(context, two, "hidden=64", LOW));
            }
            case "other-thread" -> otherThread(context);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static EpBuffer buffer(RankContext context, EpGroup group, String params) {
        return context.owned(group.createBuffer(Setup.of(context, params).shape()));
    }

    /** Rounds of the given modes, each with new data. */
    private static void rounds(RankContext context, EpBuffer buffer, String params, Exchange... modes) {
        long stream = stream(context, buffer);
        for (int round = 0; round < ROUNDS; round++) {
            Params drawn = Params.parse(params + " seed=" + round);
            for (Exchange mode : modes) {
                mode.run(context, buffer, drawn, stream);
            }
        }
    }

    /** A new stream where the device has any, else 0. */
    private static long stream(RankContext context, EpBuffer buffer) {
        if (GpuDevice.isGpu(buffer.group().device())) {
            GpuStream own = GpuDevice.of(buffer.group().device()).createStream();
            synchronized (context) {
                context.owned(own);
            }
            return own.handle();
        }
        return 0;
    }

    /** Each round from a thread of its own. */
    private static void otherThread(RankContext context) {
        EpBuffer buffer = buffer(context, context.group(), "");
        for (int round = 0; round < ROUNDS; round++) {
            Params params = Params.parse("seed=" + round);
            atOnce(() -> LifecycleScenario.highThroughput(context, buffer, params));
            atOnce(() -> LifecycleScenario.lowLatency(context, buffer, params));
        }
    }

    private static void atOnce(Runnable... work) {
        List<Call<Boolean>> calls = new ArrayList<>();
        for (Runnable one : work) {
            calls.add(new Call<>(() -> {
                one.run();
                return true;
            }));
        }
        for (Call<Boolean> call : calls) {
            Checks.that(
                    call.endsWithin(MisuseScenario.LIMIT),
                    "a thread that runs operations is not done after " + Patience.here(MisuseScenario.LIMIT));
            call.failure("a thread that runs operations").ifPresent(e -> {
                throw new AssertionError("in another thread: " + e, e);
            });
        }
    }
}
