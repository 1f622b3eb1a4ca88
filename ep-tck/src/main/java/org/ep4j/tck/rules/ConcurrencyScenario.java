package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.gpu.GpuDevice;
import org.ep4j.gpu.GpuStream;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Patience;

/**
 * Several threads of one rank. On a GPU each has a stream of its own: on one stream the ranks' operations would have to come in
 * the same order.
 */
public final class ConcurrencyScenario implements Scenario {
    private static final int ROUNDS = 12;

    @Override
    public void run(RankContext context) {
        switch (context.params().text("case", "")) {
            case "buffers" -> {
                EpBuffer one = buffer(context, context.group(), "hidden=64");
                EpBuffer two = buffer(context, context.group(), "hidden=192");
                atOnce(() -> rounds(context, one, "hidden=64"), () -> rounds(context, two, "hidden=192"));
            }
            case "groups" -> {
                EpBuffer one = buffer(context, context.newGroup(Map.of()), "hidden=64");
                EpBuffer two = buffer(context, context.newGroup(Map.of()), "hidden=192");
                atOnce(() -> rounds(context, one, "hidden=64"), () -> rounds(context, two, "hidden=192"));
            }
            case "modes" -> {
                EpBuffer one = buffer(context, context.group(), "hidden=64");
                EpBuffer two = buffer(context, context.group(), "hidden=64");
                atOnce(() -> high(context, one, "hidden=64"), () -> low(context, two, "hidden=64"));
            }
            case "other-thread" -> otherThread(context);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static EpBuffer buffer(RankContext context, EpGroup group, String params) {
        return context.owned(group.createBuffer(new Setup(Params.parse(params), context.size()).shape()));
    }

    private static void rounds(RankContext context, EpBuffer buffer, String params) {
        long stream = stream(context, buffer);
        for (int round = 0; round < ROUNDS; round++) {
            Params drawn = Params.parse(params + " seed=" + round);
            LifecycleScenario.highThroughput(context, buffer, drawn, stream);
            LifecycleScenario.lowLatency(context, buffer, drawn, stream);
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

    private static void high(RankContext context, EpBuffer buffer, String params) {
        long stream = stream(context, buffer);
        for (int round = 0; round < ROUNDS; round++) {
            LifecycleScenario.highThroughput(context, buffer, Params.parse(params + " seed=" + round), stream);
        }
    }

    private static void low(RankContext context, EpBuffer buffer, String params) {
        long stream = stream(context, buffer);
        for (int round = 0; round < ROUNDS; round++) {
            LifecycleScenario.lowLatency(context, buffer, Params.parse(params + " seed=" + round), stream);
        }
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
        List<CompletableFuture<Void>> futures = new ArrayList<>();
        for (Runnable one : work) {
            CompletableFuture<Void> future = new CompletableFuture<>();
            Thread thread = new Thread(
                    () -> {
                        try {
                            one.run();
                            future.complete(null);
                        } catch (RuntimeException | Error e) {
                            future.completeExceptionally(e);
                        }
                    },
                    "tck-worker");
            thread.setDaemon(true);
            thread.start();
            futures.add(future);
        }
        Duration limit = Patience.here(Duration.ofSeconds(60));
        for (CompletableFuture<Void> future : futures) {
            try {
                future.get(limit.toSeconds(), TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                throw new AssertionError("in another thread: " + e.getCause(), e.getCause());
            } catch (TimeoutException e) {
                throw new AssertionError("a thread that runs operations is not done after " + limit, e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted, because the ranks exceeded the time limit of this rule", e);
            }
        }
    }
}
