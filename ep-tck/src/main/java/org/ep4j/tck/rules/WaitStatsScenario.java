package org.ep4j.tck.rules;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.Tensor;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Workload;

/** Rank 1 comes late: the others must book the time on it, and on top of what the tensor held. */
final class WaitStatsScenario implements Scenario {
    /** A busy machine keeps ranks and kernels waiting for some hundred milliseconds: where it does, the next delay outweighs that. */
    private static final List<Duration> LATE =
            List.of(Duration.ofMillis(300), Duration.ofMillis(1200), Duration.ofMillis(5000));

    private static final int LATE_RANK = 1;
    private static final int BEFORE = 1_000_000_007;

    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        if (context.params().text("mode", "low").equals("high")) {
            highThroughput(context, buffer, setup.workload());
        } else {
            lowLatency(context, buffer, setup.workload());
        }
    }

    private static void lowLatency(RankContext context, EpBuffer buffer, Workload workload) {
        try (LowLatencyExchange exchange =
                new LowLatencyExchange(context, buffer, workload, LowLatencyOptions.of(context.params()), Set.of())) {
            // The first round warms up, so that what is waited for in the second is rank 1 and nothing else.
            exchange.round();
            Tensor x = exchange.inputs().rows(context.rank());
            Tensor ids = exchange.inputs().ids(context.rank(), DataType.INT32);
            measure(
                    context,
                    exchange.arena(),
                    waited -> buffer.dispatch(LowLatencyDispatchRequest.of(x, ids)
                            .waitStats(waited)
                            .build()));
        }
    }

    private static void highThroughput(RankContext context, EpBuffer buffer, Workload workload) {
        HighThroughputOptions options = HighThroughputOptions.of(context.params());
        try (HighThroughputExchange exchange =
                new HighThroughputExchange(context, buffer, workload, options, Set.of())) {
            exchange.round();
            Tensor x = exchange.inputs().rows(context.rank());
            Tensor ids = exchange.inputs().ids(context.rank(), DataType.INT32);
            List<DispatchHandle> handles = new ArrayList<>();
            measure(
                    context,
                    exchange.arena(),
                    waited -> handles.add(buffer.dispatch(DispatchRequest.of(x, ids)
                                    .layout(options.layout())
                                    .waitStats(waited)
                                    .build())
                            .handle()));
            DispatchHandle handle = handles.get(handles.size() - 1);
            Tensor outputs = exchange.inputs().outputs(exchange.table(), workload.randomOutputs(), handle.rows());
            measure(
                    context,
                    exchange.arena(),
                    waited -> buffer.combine(
                            CombineRequest.of(outputs, handle).waitStats(waited).build()));
        }
    }

    /** Runs an operation that rank 1 begins late: it is waited for as long as that, and nobody longer than the call takes. */
    private static void measure(RankContext context, Arena arena, Consumer<Tensor> call) {
        Tensor waited = arena.longs(filled(context.size()), context.size());
        long usual =
                longest(context, timed(context, waited, call, Duration.ZERO).took());
        List<String> wrong = List.of();
        for (Duration late : LATE) {
            wrong = wrong(context, arena, call, late, usual);
            if (longest(context, wrong.size()) == 0) {
                return;
            }
        }
        Checks.that(wrong.isEmpty(), String.join("; ", wrong));
    }

    private static List<String> wrong(
            RankContext context, Arena arena, Consumer<Tensor> call, Duration late, long usual) {
        Tensor waited = arena.longs(filled(context.size()), context.size());
        Timed own = timed(context, waited, call, context.isRank(LATE_RANK) ? late : Duration.ZERO);
        long[] seen = arena.readLongs(waited);
        // On a busy machine any rank may begin late: what counts is by how much later than this one, and what its part
        // takes.
        List<Long> delays = exchange(context, own.delay());
        long half = late.toNanos() / 2;
        List<String> wrong = new ArrayList<>();
        for (int rank = 0; rank < seen.length; rank++) {
            long nanos = seen[rank] - BEFORE;
            long later = delays.get(rank) - own.delay();
            if (nanos < (later > half ? later / 2 : 0) || nanos >= Math.max(0, later) + half + 2 * usual) {
                wrong.add("waitStats[" + rank + "] grew by " + nanos + " ns where rank " + rank + " came " + later
                        + " ns later and a call without delay takes " + usual + " ns");
            }
            if (nanos > own.took()) {
                wrong.add("waitStats[" + rank + "] grew by " + nanos + " ns in a call of " + own.took() + " ns");
            }
        }
        return wrong;
    }

    private static int[] filled(int size) {
        int[] before = new int[size];
        Arrays.fill(before, BEFORE);
        return before;
    }

    /**
     * A call.
     *
     * @param delay nanoseconds from the meeting of all ranks to its beginning
     * @param took nanoseconds
     */
    private record Timed(long delay, long took) {}

    private static Timed timed(RankContext context, Tensor waited, Consumer<Tensor> call, Duration late) {
        context.meet();
        long met = System.nanoTime();
        context.sleep(late);
        long start = System.nanoTime();
        call.accept(waited);
        return new Timed(start - met, System.nanoTime() - start);
    }

    private static long longest(RankContext context, long own) {
        return exchange(context, own).stream().mapToLong(Long::longValue).max().orElse(own);
    }

    private static List<Long> exchange(RankContext context, long own) {
        return context.exchange(ByteBuffer.allocate(Long.BYTES).putLong(own).array()).stream()
                .map(bytes -> ByteBuffer.wrap(bytes).getLong())
                .toList();
    }
}
