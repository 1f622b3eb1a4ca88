package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.ep4j.DataType;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpMismatchException;
import org.ep4j.EpOverflowException;
import org.ep4j.EpShape;
import org.ep4j.EpUnavailableException;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.Recovery;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Rank 0 does something else than the others: all ranks must get an exception, and can continue. */
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
        HighThroughputExchange.run(context, new Setup(context, PLAIN).buffer(), PLAIN);
    }

    private static void settings(RankContext context) {
        String excluded = context.isRank(0) ? "another-backend" : "no-backend";
        mismatch("a group whose settings differ between ranks", () -> {
            EpGroup group = context.newGroup(Map.of(EpKeys.BACKEND_EXCLUDE.name(), excluded));
            Checks.that(group.size() < 0, "the group was joined");
        });
    }

    /** Ranks call different operations, and all recover. */
    private static void operation(RankContext context) {
        // A kernel finds only by its deadline that no other rank is in its operation.
        EpGroup group = context.newGroup(
                Map.of(EpKeys.TIMEOUT.name(), Patience.scaled(TIMEOUT).toMillis() + "ms"));
        EpBuffer buffer = new Setup(context, PLAIN).buffer(group);
        mismatch("an exchange in which ranks call different operations", () -> {
            if (context.isRank(0)) {
                HighThroughputExchange.run(context, buffer, PLAIN);
            } else {
                LowLatencyExchange.run(context, buffer, PLAIN);
            }
        });
        recoverAndExchange(context, buffer);
    }

    private static void options(RankContext context) {
        EpBuffer buffer = new Setup(context, PLAIN).buffer();
        Params params = Params.parse(context.isRank(0) ? "noweights" : "");
        mismatch("weights on some ranks only", () -> HighThroughputExchange.run(context, buffer, params));
        if (!recoverAndExchange(context, buffer)) {
            return;
        }
        Params type = Params.parse(context.isRank(0) ? "fp8" : "");
        mismatch(
                "a dispatch whose row type differs between ranks",
                () -> HighThroughputExchange.run(context, buffer, type));
        recoverAndExchange(context, buffer);
        Params codes = Params.parse(context.isRank(0) ? "fnuz" : "fp8");
        mismatch(
                "a dispatch whose FP8 type differs between ranks",
                () -> HighThroughputExchange.run(context, buffer, codes));
        recoverAndExchange(context, buffer);
    }

    private static void combineOptions(RankContext context) {
        EpBuffer buffer = new Setup(context, PLAIN).buffer();
        Params params = Params.parse("layout=BY_EXPERT precision=" + (context.isRank(0) ? "RANK_PARTIAL" : "EXACT"));
        mismatch(
                "a combine whose precision differs between ranks",
                () -> HighThroughputExchange.run(context, buffer, params));
        recoverAndExchange(context, buffer);
    }

    private static void lowLatencyOptions(RankContext context) {
        EpBuffer buffer = new Setup(context, PLAIN).buffer();
        Params format = Params.parse(context.isRank(0) ? "format=FP8" : "format=BF16");
        mismatch(
                "a low-latency dispatch whose format differs between ranks",
                () -> LowLatencyExchange.run(context, buffer, format));
        if (!recoverAndExchange(context, buffer)) {
            return;
        }
        Params rows = Params.parse(context.isRank(0) ? "logfmt" : "");
        mismatch("LogFMT on some ranks only", () -> LowLatencyExchange.run(context, buffer, rows));
        recoverAndExchange(context, buffer);
    }

    /** Recovers and exchanges rows; returns false where buffers cannot recover (rules of chapter 6 test that those that declare it do). */
    private static boolean recoverAndExchange(RankContext context, EpBuffer buffer) {
        Recovery recovery;
        try {
            recovery = buffer.recover(LIMIT);
        } catch (EpUnavailableException e) {
            return false;
        }
        Checks.equal("ranks that recovery masked", recovery.masked(), Set.of());
        Checks.reported(recovery, context.size());
        HighThroughputExchange.run(context, buffer, PLAIN);
        LowLatencyExchange.run(context, buffer, PLAIN);
        return true;
    }

    /** A single rank is refused, corrects its call, and the operation in which the others wait succeeds. */
    private static void oneWrong(RankContext context) {
        EpBuffer buffer = new Setup(context, PLAIN).buffer();
        if (context.isRank(0)) {
            Checks.refused(
                    EpArgumentException.class,
                    "rows of another hidden size on one rank",
                    () -> HighThroughputExchange.run(context, buffer, Params.parse("hidden=64")));
        }
        HighThroughputExchange.run(context, buffer, PLAIN);
        if (context.isRank(context.size() - 1)) {
            Checks.refused(
                    EpArgumentException.class,
                    "rows of another hidden size on one rank",
                    () -> LowLatencyExchange.run(context, buffer, Params.parse("hidden=64")));
        }
        LowLatencyExchange.run(context, buffer, PLAIN);
    }

    private static void overflow(RankContext context) {
        Params crowded = Params.parse("tokens=12 recv=14 routing=to-rank:1 topk=2");
        EpBuffer buffer = new Setup(context, crowded).buffer();
        try (HighThroughputExchange exchange = new HighThroughputExchange(context, buffer, crowded)) {
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
        HighThroughputExchange.run(context, buffer, Params.parse("tokens=3 max=12 recv=14 routing=local topk=2"));
    }

    /** Duplicates could give an expert more rows than its part of the packed output holds. */
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
                        () -> buffer.lowLatencyDispatch(LowLatencyDispatchRequest.builder(
                                                context.arena().allocate(DataType.BF16, 4, 128),
                                                context.arena().ints(ids, 4, 4))
                                        .build())
                                .x()));
        Checks.that(
                refused instanceof EpArgumentException || refused instanceof EpOverflowException,
                "too many selections of one expert must throw EpArgumentException or EpOverflowException, but threw "
                        + refused);
        LowLatencyExchange.run(context, buffer, Params.parse("tokens=4"));
    }
}
