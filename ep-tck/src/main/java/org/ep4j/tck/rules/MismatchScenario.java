package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpMismatchException;
import org.ep4j.EpOverflowException;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.Recovery;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.oracle.Workload;

/** Rank 0 does something else than the others: all must be told, and can go on. */
final class MismatchScenario implements Scenario {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    /** Timeout of operations that other ranks do not call. */
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private static final Params PLAIN = Params.parse("");

    @Override
    public void run(RankContext context) {
        switch (context.params().text("case", "")) {
            case "shape" -> shape(context);
            case "settings" -> settings(context);
            case "operation" -> operation(context);
            case "options" -> options(context);
            case "combine-options" -> combineOptions(context);
            case "low-latency-options" -> lowLatencyOptions(context);
            case "one-wrong" -> oneWrong(context);
            case "overflow" -> overflow(context);
            case "crowded-expert" -> crowdedExpert(context);
            default -> throw new IllegalArgumentException("no such case: " + context.params());
        }
    }

    private static void mismatch(String what, Runnable action) {
        EpException refused = Checks.within(
                LIMIT, "the refusal of " + what, () -> Checks.refused(EpMismatchException.class, what, action));
        Checks.mentions(refused, "rank");
    }

    private static void shape(RankContext context) {
        EpShape shape =
                EpShape.builder(context.isRank(0) ? 128 : 64, 8, 2).maxTokens(4).build();
        mismatch(
                "a buffer whose shape differs between ranks",
                () -> context.group().createBuffer(shape));
        EpShape same = new Setup(PLAIN, context.size()).shape();
        LifecycleScenario.highThroughput(context, context.buffer(same), PLAIN);
    }

    private static void settings(RankContext context) {
        String excluded = context.isRank(0) ? "another-backend" : "no-backend";
        mismatch("a group whose settings differ between ranks", () -> {
            EpGroup group = context.newGroup(Map.of(EpKeys.BACKEND_EXCLUDE.name(), excluded));
            Checks.that(group.size() < 0, "the group was joined");
        });
    }

    /** Different operations, then everybody recovers. */
    private static void operation(RankContext context) {
        // A kernel learns only from its deadline that nobody else is in its operation.
        EpGroup group = context.newGroup(
                Map.of(EpKeys.TIMEOUT.name(), Patience.here(TIMEOUT).toMillis() + "ms"));
        EpBuffer buffer = context.owned(group.createBuffer(new Setup(PLAIN, context.size()).shape()));
        mismatch("an exchange in which ranks call different operations", () -> {
            if (context.isRank(0)) {
                LifecycleScenario.highThroughput(context, buffer, PLAIN);
            } else {
                LifecycleScenario.lowLatency(context, buffer, PLAIN);
            }
        });
        goOn(context, buffer);
    }

    private static void options(RankContext context) {
        EpBuffer buffer = context.buffer(new Setup(PLAIN, context.size()).shape());
        Params params = Params.parse(context.isRank(0) ? "noweights" : "");
        mismatch("weights on some ranks only", () -> LifecycleScenario.highThroughput(context, buffer, params));
        if (!goOn(context, buffer)) {
            return;
        }
        Params type = Params.parse(context.isRank(0) ? "fp8" : "");
        mismatch(
                "a dispatch whose row type differs between ranks",
                () -> LifecycleScenario.highThroughput(context, buffer, type));
        goOn(context, buffer);
        Params codes = Params.parse(context.isRank(0) ? "fnuz" : "fp8");
        mismatch(
                "a dispatch whose FP8 type differs between ranks",
                () -> LifecycleScenario.highThroughput(context, buffer, codes));
        goOn(context, buffer);
    }

    private static void combineOptions(RankContext context) {
        EpBuffer buffer = context.buffer(new Setup(PLAIN, context.size()).shape());
        Params params = Params.parse("layout=BY_EXPERT precision=" + (context.isRank(0) ? "RANK_PARTIAL" : "EXACT"));
        mismatch(
                "a combine whose precision differs between ranks",
                () -> LifecycleScenario.highThroughput(context, buffer, params));
        goOn(context, buffer);
    }

    private static void lowLatencyOptions(RankContext context) {
        EpBuffer buffer = context.buffer(new Setup(PLAIN, context.size()).shape());
        Params format = Params.parse(context.isRank(0) ? "format=FP8" : "format=BF16");
        mismatch(
                "a low-latency dispatch whose format differs between ranks",
                () -> LifecycleScenario.lowLatency(context, buffer, format));
        if (!goOn(context, buffer)) {
            return;
        }
        Params rows = Params.parse(context.isRank(0) ? "logfmt" : "");
        mismatch("LogFMT on some ranks only", () -> LifecycleScenario.lowLatency(context, buffer, rows));
        goOn(context, buffer);
    }

    /** Recovers and exchanges rows; false where buffers cannot recover, which rules of chapter 6 refuse where recovery is declared. */
    private static boolean goOn(RankContext context, EpBuffer buffer) {
        Recovery recovery;
        try {
            recovery = buffer.recover(LIMIT);
        } catch (EpUnavailableException e) {
            return false;
        }
        Checks.equal("ranks that recovery masked", recovery.masked(), Set.of());
        Checks.reported(recovery, context.size());
        LifecycleScenario.highThroughput(context, buffer, PLAIN);
        LifecycleScenario.lowLatency(context, buffer, PLAIN);
        return true;
    }

    /** One rank alone is refused, corrects itself, and the operation that the others wait in ends well. */
    private static void oneWrong(RankContext context) {
        EpBuffer buffer = context.buffer(new Setup(PLAIN, context.size()).shape());
        if (context.isRank(0)) {
            Checks.refused(
                    EpArgumentException.class,
                    "rows of another hidden size on one rank",
                    () -> LifecycleScenario.highThroughput(context, buffer, Params.parse("hidden=64")));
        }
        LifecycleScenario.highThroughput(context, buffer, PLAIN);
        if (context.isRank(context.size() - 1)) {
            Checks.refused(
                    EpArgumentException.class,
                    "rows of another hidden size on one rank",
                    () -> LifecycleScenario.lowLatency(context, buffer, Params.parse("hidden=64")));
        }
        LifecycleScenario.lowLatency(context, buffer, PLAIN);
    }

    private static void overflow(RankContext context) {
        Params crowded = Params.parse("tokens=12 recv=14 routing=to-rank:1 topk=2");
        EpBuffer buffer = context.buffer(new Setup(crowded, context.size()).shape());
        Workload workload = new Setup(crowded, context.size()).workload();
        try (HighThroughputExchange exchange =
                new HighThroughputExchange(context, buffer, workload, HighThroughputOptions.of(crowded))) {
            EpOverflowException refused = Checks.within(
                    LIMIT,
                    "the report of an overflow",
                    () -> Checks.refused(EpOverflowException.class, "more rows than rank 1 can hold", () -> {
                        DispatchResult result = exchange.dispatch();
                        Checks.that(result.rows() < 0, "the dispatch was accepted");
                    }));
            Checks.mentions(refused, "14");
            Checks.mentions(refused, Integer.toString(12 * context.size()));
        }
        LifecycleScenario.highThroughput(context, buffer, Params.parse("tokens=3 max=12 recv=14 routing=local topk=2"));
    }

    /** Duplicates could give an expert more rows than its part of the packed output has. */
    private static void crowdedExpert(RankContext context) {
        EpBuffer buffer = context.buffer(EpShape.builder(128, 3 * context.size(), 4)
                .maxLowLatencyTokens(4)
                .build());
        int[] ids = new int[16];
        EpException refused = Checks.within(
                LIMIT,
                "the refusal of too many selections of one expert",
                () -> Checks.refused(
                        EpException.class,
                        "16 selections of expert 0 by each rank, although the expert has room for only 4 per rank,",
                        () -> buffer.lowLatencyDispatch(org.ep4j.LowLatencyDispatchRequest.builder(
                                                context.arena().allocate(org.ep4j.DataType.BF16, 4, 128),
                                                context.arena().ints(ids, 4, 4))
                                        .build())
                                .x()));
        Checks.that(
                refused instanceof EpArgumentException || refused instanceof EpOverflowException,
                "too many selections of one expert must throw EpArgumentException or EpOverflowException, but threw "
                        + refused);
        LifecycleScenario.lowLatency(context, buffer, Params.parse("tokens=4"));
    }
}
