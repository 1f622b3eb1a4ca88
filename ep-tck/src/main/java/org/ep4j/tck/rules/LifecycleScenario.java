package org.ep4j.tck.rules;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.ep4j.BufferSize;
import org.ep4j.CombineResult;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.ExpertPlacement;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Groups and buffers from their creation to their end. */
final class LifecycleScenario implements Scenario {
    private static final Params PLAIN = Params.parse("");
    private static final int MANY = 40;
    /** Just below 2^31 and 2^32; 2^32, whose lower 32 bits are zero as in fresh memory; the largest allowed. */
    private static final long[] FIRST_NUMBERS = {(1L << 31) - 2, (1L << 32) - 2, 1L << 32, (1L << 47) - (1L << 20)};

    /** Exchanges of each mode after which the numbers of all operations have passed the power of two. */
    private static final int PAST_THE_POWER = 4;

    @Override
    public void run(RankContext context) {
        switch (context.params().text("case", "")) {
            case "group" -> group(context);
            case "one-rank" -> oneRank(context);
            case "placement" -> placement(context);
            case "size" -> size(context);
            case "buffers" -> buffers(context);
            case "groups" -> groups(context);
            case "close-order" -> closeOrder(context);
            case "close-group-first" -> closeGroupFirst(context);
            case "close-uneven" -> closeUneven(context);
            case "after-close" -> afterClose(context);
            case "no-leak" -> noLeak(context);
            case "barrier" -> barrier(context);
            case "one-mode" -> oneMode(context);
            case "numbers" -> numbers(context);
            case "layouts" -> layouts(context);
            case "preallocated" -> preallocated(context);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static void group(RankContext context) {
        EpGroup group = context.group();
        Checks.equal("rank()", group.rank(), context.rank());
        Checks.equal("size()", group.size(), context.size());
        Checks.equal("lostRanks()", group.lostRanks(), Set.of());
        Checks.equal(
                "device of the plan",
                context.plan().profiles().get(context.rank()).device(),
                group.device().id());
    }

    private static void oneRank(RankContext context) {
        Checks.equal("size()", context.group().size(), 1);
        try (EpBuffer buffer = context.group().createBuffer(new Setup(context, PLAIN).shape())) {
            HighThroughputExchange.run(context, buffer, Params.parse("layout=BY_EXPERT align=4"));
            HighThroughputExchange.run(context, buffer, PLAIN);
            LowLatencyExchange.run(context, buffer, Params.parse("format=FP8"));
        }
    }

    private static void placement(RankContext context) {
        Setup setup = Setup.of(context);
        EpBuffer buffer = setup.buffer();
        Checks.equal("shape()", buffer.shape(), setup.shape());
        Checks.equal("group()", buffer.group().rank(), context.rank());
        Workload workload = setup.workload();
        ExpertPlacement placement = buffer.placement();
        Checks.equal("experts of the placement", placement.experts(), workload.experts());
        for (int e = 0; e < workload.experts(); e++) {
            Checks.equal("rankOf(" + e + ")", placement.rankOf(e), workload.rankOf(e));
            Checks.equal("localIndex(" + e + ")", placement.localIndex(e), workload.localIndex(e));
        }
        Checks.equal("maskedRanks()", buffer.maskedRanks(), Set.of());
    }

    private static void size(RankContext context) {
        for (String params : List.of("tokens=8", "tokens=64 hidden=1024", "tokens=3 experts=50 topk=8 recv=5")) {
            EpShape shape = Setup.of(context, params).shape();
            var before = context.group().bufferSize(shape);
            Checks.equal("bufferSize() asked twice", context.group().bufferSize(shape), before);
            try (EpBuffer buffer = context.group().createBuffer(shape)) {
                // The numbers of SMs are known only once a buffer exists.
                Checks.equal("size() of a buffer of " + shape, buffer.size().withSms(0, 0), before);
                long most = (long) context.size() * shape.maxTokens();
                Checks.equal(
                        "maxRows(BY_RANK, 4)",
                        buffer.maxRows(RowLayout.BY_RANK, 4),
                        shape.maxReceivedRows() == 0 ? most : Math.min(most, shape.maxReceivedRows()));
                Checks.equal(
                        "maxLowLatencyRows()",
                        buffer.maxLowLatencyRows(),
                        (long) context.size() * shape.maxLowLatencyTokens());
            }
            Checks.equal("sum of parts()", sum(before), before.localBytes());
            Checks.that(before.symmetricBytes() > 0 && before.localBytes() >= 0, "bufferSize() is " + before);
        }
        EpShape small = EpShape.builder(64, 8, 2).maxTokens(16).build();
        EpShape both =
                EpShape.builder(64, 8, 2).maxTokens(16).maxLowLatencyTokens(16).build();
        Checks.that(
                context.group().bufferSize(small).symmetricBytes()
                        < context.group().bufferSize(both).symmetricBytes(),
                "a shape without low latency must give a smaller bufferSize().symmetricBytes() than a shape with both modes");
    }

    private static long sum(BufferSize size) {
        return size.parts().stream().mapToLong(BufferSize.Part::bytes).sum();
    }

    private static void layouts(RankContext context) {
        EpShape all = new Setup(context, PLAIN).shape();
        EpShape byRank = all.toBuilder().layouts(RowLayout.BY_RANK).build();
        Checks.that(
                context.group().bufferSize(byRank).localBytes()
                        < context.group().bufferSize(all).localBytes(),
                "a shape without by-expert rows must give a smaller bufferSize().localBytes() than a shape with them");
        EpBuffer buffer = context.buffer(byRank);
        Checks.equal("layouts()", buffer.shape().layouts(), Set.of(RowLayout.BY_RANK));
        Params byExpert = Params.parse("layout=BY_EXPERT");
        for (int round = 0; round < 2; round++) {
            HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
            Checks.refused(
                    EpArgumentException.class,
                    "a by-expert dispatch on a buffer whose shape leaves by-expert rows out",
                    () -> HighThroughputExchange.run(context, buffer, byExpert));
        }
        Checks.refused(
                EpArgumentException.class,
                "maxRows(BY_EXPERT, 1) of a shape that leaves by-expert rows out",
                () -> buffer.maxRows(RowLayout.BY_EXPERT, 1));
        LowLatencyExchange.run(context, buffer, PLAIN);
    }

    private static void preallocated(RankContext context) {
        EpShape onDemand = new Setup(context, PLAIN).shape();
        EpShape preallocated = onDemand.toBuilder().preallocate().build();
        var later = context.group().bufferSize(onDemand);
        var size = context.group().bufferSize(preallocated);
        Checks.equal("bytesAtCreation() without preallocate()", later.bytesAtCreation(), later.symmetricBytes());
        Checks.equal(
                "bytesAtCreation() with preallocate()",
                size.bytesAtCreation(),
                size.symmetricBytes() + size.localBytes());
        Checks.equal("parts() with preallocate()", size.parts(), later.parts());
        for (EpShape shape : List.of(onDemand, preallocated)) {
            EpBuffer buffer = context.buffer(shape);
            for (int round = 0; round < 2; round++) {
                HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
                HighThroughputExchange.run(context, buffer, Params.parse("layout=BY_EXPERT align=4 seed=" + round));
                LowLatencyExchange.run(context, buffer, Params.parse("seed=" + round));
            }
        }
    }

    private static void buffers(RankContext context) {
        List<EpBuffer> buffers = new ArrayList<>();
        for (int hidden : new int[] {64, 128, 256}) {
            buffers.add(Setup.of(context, "hidden=" + hidden).buffer());
        }
        for (int round = 0; round < 3; round++) {
            for (EpBuffer buffer : buffers) {
                Params params = Params.parse("hidden=" + buffer.shape().hidden() + " seed=" + round);
                HighThroughputExchange.run(context, buffer, params);
                LowLatencyExchange.run(context, buffer, params);
            }
            Collections.rotate(buffers, 1);
        }
    }

    private static void groups(RankContext context) {
        EpGroup first = context.newGroup(Map.of());
        EpGroup second = context.newGroup(Map.of());
        EpBuffer one = Setup.of(context, "hidden=64").buffer(first);
        EpBuffer two = Setup.of(context, "hidden=192").buffer(second);
        for (int round = 0; round < 4; round++) {
            HighThroughputExchange.run(context, one, Params.parse("hidden=64 seed=" + round));
            HighThroughputExchange.run(context, two, Params.parse("hidden=192 seed=" + (9 + round)));
            LowLatencyExchange.run(context, two, Params.parse("hidden=192 seed=" + round));
            LowLatencyExchange.run(context, one, Params.parse("hidden=64 seed=" + (9 + round)));
        }
    }

    private static void closeOrder(RankContext context) {
        List<EpBuffer> buffers = new ArrayList<>();
        EpGroup group = context.newGroup(Map.of());
        EpShape shape = new Setup(context, PLAIN).shape();
        for (int i = 0; i < 3; i++) {
            buffers.add(group.createBuffer(shape));
            HighThroughputExchange.run(context, buffers.get(i), Params.parse("seed=" + i));
        }
        // Every rank closes in another order, and none waits.
        Collections.rotate(buffers, context.rank());
        for (EpBuffer buffer : buffers) {
            buffer.close();
            buffer.close();
        }
        group.close();
        group.close();
    }

    private static void closeGroupFirst(RankContext context) {
        EpGroup group = context.newGroup(Map.of());
        EpBuffer buffer = group.createBuffer(new Setup(context, PLAIN).shape());
        HighThroughputExchange.run(context, buffer, PLAIN);
        group.close();
        buffer.close();
        Checks.refused(EpStateException.class, "dispatch on a buffer whose group is closed", () -> {
            try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, PLAIN)) {
                exchange.dispatch();
            }
        });
    }

    /** Rank 0 closes directly after its last operation, the others only after rank 0 has closed. */
    private static void closeUneven(RankContext context) {
        EpGroup group = context.newGroup(Map.of());
        EpBuffer buffer = group.createBuffer(new Setup(context, PLAIN).shape());
        for (int round = 0; round < 3; round++) {
            HighThroughputExchange.run(context, buffer, Params.parse("seed=" + round));
            LowLatencyExchange.run(context, buffer, Params.parse("seed=" + round));
        }
        if (context.isRank(0)) {
            buffer.close();
            group.close();
        }
        context.barrier();
        if (!context.isRank(0)) {
            buffer.close();
            group.close();
        }
    }

    private static void afterClose(RankContext context) {
        EpBuffer buffer = context.group().createBuffer(new Setup(context, PLAIN).shape());
        HighThroughputExchange exchange = context.owned(new HighThroughputExchange(context, buffer, PLAIN));
        LowLatencyExchange small = context.owned(new LowLatencyExchange(context, buffer, PLAIN));
        DispatchResult result = exchange.dispatch();
        CombineResult back = exchange.combine(result.handle());
        LowLatencyDispatchResult packed = small.dispatch();
        buffer.close();
        Checks.refused(EpStateException.class, "x() of a closed buffer's result", result::x);
        Checks.refused(EpStateException.class, "out() of a closed buffer's result", back::out);
        Checks.refused(EpStateException.class, "x() of a closed buffer's low-latency result", packed::x);
        Checks.refused(EpStateException.class, "dispatch on a closed buffer", exchange::dispatch);
        Checks.refused(EpStateException.class, "combine on a closed buffer", () -> exchange.combine(result.handle()));
        Checks.refused(EpStateException.class, "low-latency dispatch on a closed buffer", small::dispatch);
        Checks.refused(EpStateException.class, "recover on a closed buffer", () -> buffer.recover(Checks.patience()));
    }

    /** Buffers that are created and closed leave no file descriptors or mappings of this process behind. */
    private static void noLeak(RankContext context) {
        EpShape shape = new Setup(context, PLAIN).shape();
        cycle(context, shape, 3);
        context.barrier();
        long handles = entries("/proc/self/fd");
        long mappings = lines("/proc/self/maps");
        context.barrier();
        cycle(context, shape, MANY);
        context.barrier();
        long more = entries("/proc/self/fd") - handles;
        // Ranks that are threads share the counts, and other threads of the JVM open and close files meanwhile.
        Checks.that(more < MANY / 2, MANY + " buffers left " + more + " open files");
        long mapped = lines("/proc/self/maps") - mappings;
        // Each rank of this process has created as many buffers.
        var profiles = context.plan().profiles();
        var mine = profiles.get(context.rank());
        long ranksHere = profiles.stream()
                .filter(p -> p.hostId().equals(mine.hostId()) && p.pid() == mine.pid())
                .count();
        long made = MANY * ranksHere;
        Checks.that(mapped < made, made + " buffers left " + mapped + " mappings");
        context.barrier();
    }

    private static void cycle(RankContext context, EpShape shape, int times) {
        for (int i = 0; i < times; i++) {
            try (EpBuffer buffer = context.group().createBuffer(shape)) {
                HighThroughputExchange.run(context, buffer, Params.parse("tokens=3 max=17 seed=" + i));
            }
        }
    }

    private static long entries(String folder) {
        try (Stream<Path> all = Files.list(Path.of(folder))) {
            return all.count();
        } catch (IOException e) {
            return 0;
        }
    }

    private static long lines(String file) {
        try (Stream<String> all = Files.lines(Path.of(file))) {
            return all.count();
        } catch (IOException e) {
            return 0;
        }
    }

    /** No rank leaves before all have entered, by the clock of one machine. */
    private static void barrier(RankContext context) {
        for (int late = 0; late < context.size(); late++) {
            if (context.isRank(late)) {
                context.sleep(Duration.ofMillis(40));
            }
            long entered = System.nanoTime();
            context.group().barrier(Checks.patience());
            long left = System.nanoTime();
            for (byte[] theirs : context.allGather(Long.toString(entered).getBytes(StandardCharsets.UTF_8))) {
                long other = Long.parseLong(new String(theirs, StandardCharsets.UTF_8));
                Checks.that(
                        other - left <= 0,
                        "this rank left the barrier " + (other - left) + " ns before another rank entered it");
            }
        }
    }

    private static void oneMode(RankContext context) {
        EpBuffer high = context.buffer(
                EpShape.builder(128, 3 * context.size(), 4).maxTokens(17).build());
        EpBuffer low = context.buffer(EpShape.builder(128, 3 * context.size(), 4)
                .maxLowLatencyTokens(17)
                .build());
        HighThroughputExchange.run(context, high, PLAIN);
        LowLatencyExchange.run(context, low, PLAIN);
        Checks.refused(
                EpStateException.class,
                "low latency on a buffer whose shape leaves out low latency",
                () -> LowLatencyExchange.run(context, high, PLAIN));
        Checks.refused(
                EpStateException.class,
                "high throughput on a buffer whose shape leaves out high throughput",
                () -> HighThroughputExchange.run(context, low, PLAIN));
        Checks.refused(
                EpStateException.class, "maxRows() without high throughput", () -> low.maxRows(RowLayout.BY_RANK, 1));
        Checks.refused(EpStateException.class, "maxLowLatencyRows() without low latency", high::maxLowLatencyRows);
        Checks.refused(EpStateException.class, "combineInput() without high throughput", low::combineInput);
        Checks.refused(
                EpStateException.class,
                "nextLowLatencyCombineInput() without low latency",
                high::nextLowLatencyCombineInput);
        Tensor input = high.combineInput();
        Checks.equal("hidden of combineInput()", input.dim(1), 128L);
    }

    /** Runs exchanges with large operation numbers: a counter that is truncated to 32 bits would fail only after days. */
    private static void numbers(RankContext context) {
        for (long first : FIRST_NUMBERS) {
            EpGroup group = context.newGroup(Map.of(EpKeys.FIRST_NUMBER.name(), Long.toString(first)));
            EpBuffer buffer = new Setup(context, PLAIN).buffer(group);
            for (int round = 0; round < PAST_THE_POWER; round++) {
                Params params = Params.parse("tokens=5 seed=" + round);
                HighThroughputExchange.run(context, buffer, params);
                LowLatencyExchange.run(context, buffer, params);
            }
            if (context.isRank(0)) {
                HighThroughputExchange alone = context.owned(new HighThroughputExchange(context, buffer, PLAIN));
                alone.timeout(Duration.ofMillis(200));
                EpTimeoutException late = Checks.refused(
                        EpTimeoutException.class, "a dispatch that no other rank calls", alone::dispatch);
                Checks.equal("number of the operation", late.failure().expected(), first + 2L * PAST_THE_POWER);
            }
            context.barrier();
        }
    }
}
