package org.ep4j.tck.rules;

import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.Capability;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankContext;
import org.ep4j.tck.ranks.Scenario;

/** Uses a capability that the subject does not declare, which must be refused as an argument or as unavailable. */
final class UndeclaredScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        Capability capability = context.params().one(Capability.class, "capability", Capability.THREADS);
        EpException refused = Checks.refused(
                EpException.class, "use of " + capability + ", which is not declared,", () -> use(context, capability));
        Checks.that(
                refused instanceof EpArgumentException || refused instanceof EpUnavailableException,
                "use of " + capability + " must throw EpArgumentException or EpUnavailableException, but threw "
                        + refused);
    }

    private static void use(RankContext context, Capability capability) {
        switch (capability) {
            case THREADS, PROCESSES -> context.group();
            case HIGH_THROUGHPUT -> high(context, "");
            case LOW_LATENCY -> low(context, "");
            case BY_EXPERT -> high(context, "layout=BY_EXPERT");
            case FP8_ROWS -> high(context, "fp8");
            case CACHED_ROUTING -> high(context, "cached");
            case WORST_CASE -> high(context, "worst");
            case BIAS -> high(context, "bias=1");
            case FP8_WIRE -> low(context, "format=FP8");
            case LOGFMT -> low(context, "logfmt");
            case HOOK -> low(context, "hook");
            case STATISTICS -> low(context, "stats");
            case RANK_PARTIAL -> low(context, "precision=RANK_PARTIAL");
            case ZERO_COPY -> low(context, "zerocopy");
            case PREALLOCATED -> low(context, "out");
            case ASYNC -> low(context, "async");
            case PLACEMENT -> high(context, "placement=stride");
            case MASK -> buffer(context, "").mask((context.rank() + 1) % context.size());
            case STREAMS -> high(context, "stream=5");
            case RECOVER -> buffer(context, "").recover(Checks.patience());
        }
    }

    private static EpBuffer buffer(RankContext context, String params) {
        return Setup.of(context, params).buffer();
    }

    private static void high(RankContext context, String params) {
        HighThroughputExchange.run(context, buffer(context, params), Params.parse(params));
    }

    private static void low(RankContext context, String params) {
        LowLatencyExchange.run(context, buffer(context, params), Params.parse(params));
    }
}
