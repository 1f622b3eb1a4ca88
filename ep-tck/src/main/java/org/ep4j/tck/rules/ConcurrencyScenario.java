package org.ep4j.tck.rules;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuStream;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;
import org.ep4j.tck.rules.MisuseScenario.Call;

/**
 * Several threads of one rank. On a GPU each has a stream of its own: on one stream the ranks' operations would have to be queued in the
 * same order.
 */
final class ConcurrencyScenario implements Scenario {
    private static final int ROUNDS = 12;
    private static final Mode HIGH = HighThroughputExchange::run;
    private static final Mode LOW = LowLatencyExchange::run;

    /** A dispatch and a combine of one mode. */
    private interface Mode {
        void run(RankContext context, EpBuffer buffer, Params params);
    }

    @Override
    public void run(RankContext context) {
        switch (context.params().text("case", "")) {
            case "buffers" -> twoBuffers(context, context.group(), context.group());
            case "groups" -> twoBuffers(context, context.newGroup(Map.of()), context.newGroup(Map.of()));
            case "modes" -> {
                EpBuffer one = buffer(context, context.group(), "hidden=64");
                EpBuffer two = buffer(context, context.group(), "hidden=64");
                atOnce(() -> rounds(context, one, "hidden=64", HIGH), () -> rounds(context, two, "hidden=64", LOW));
            }
            case "other-thread" -> otherThread(context);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static void twoBuffers(RankContext context, EpGroup first, EpGroup second) {
        EpBuffer one = buffer(context, first, "hidden=64");
        EpBuffer two = buffer(context, second, "hidden=192");
        atOnce(() -> rounds(context, one, "hidden=64", HIGH, LOW), () -> rounds(context, two, "hidden=192", HIGH, LOW));
    }

    private static EpBuffer buffer(RankContext context, EpGroup group, String params) {
        return Setup.of(context, params).buffer(group);
    }

    /** Runs rounds of the given modes, each with new data. */
    private static void rounds(RankContext context, EpBuffer buffer, String params, Mode... modes) {
        Params common = Params.parse(params).with("stream", stream(context, buffer));
        for (int round = 0; round < ROUNDS; round++) {
            for (Mode mode : modes) {
                mode.run(context, buffer, common.with("seed", round));
            }
        }
    }

    /** Returns a new stream where the device has any, else 0. */
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

    /** Runs each round in a thread of its own. */
    private static void otherThread(RankContext context) {
        EpBuffer buffer = buffer(context, context.group(), "");
        for (int round = 0; round < ROUNDS; round++) {
            Params params = Params.parse("seed=" + round);
            atOnce(() -> HIGH.run(context, buffer, params));
            atOnce(() -> LOW.run(context, buffer, params));
        }
    }

    private static void atOnce(Runnable... work) {
        List<Call<Boolean>> calls = Arrays.stream(work)
                .map(one -> new Call<Boolean>(() -> {
                    one.run();
                    return true;
                }))
                .toList();
        for (Call<Boolean> call : calls) {
            call.result("a thread that runs operations");
        }
    }
}
