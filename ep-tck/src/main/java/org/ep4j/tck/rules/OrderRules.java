package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 7. */
public final class OrderRules {
    private static final Capability[] BOTH = {Capability.HIGH_THROUGHPUT, Capability.LOW_LATENCY};
    private static final Capability[] EVERYTHING = {
        Capability.BY_EXPERT,
        Capability.FP8_ROWS,
        Capability.CACHED_ROUTING,
        Capability.WORST_CASE,
        Capability.BIAS,
        Capability.FP8_WIRE,
        Capability.HOOK,
        Capability.STATISTICS,
        Capability.RANK_PARTIAL,
        Capability.ZERO_COPY,
        Capability.PREALLOCATED,
        Capability.ASYNC
    };

    private OrderRules() {}

    public static List<Rule> all() {
        return List.of(
                Rule.of(
                        "7.1",
                        "results do not change while other ranks run ahead",
                        OrderScenario.class,
                        "case=slow-reader tokens=12 dup=0.2",
                        Capability.HIGH_THROUGHPUT),
                Rule.of(
                        "7.2",
                        "two low-latency results do not change while other ranks run ahead",
                        OrderScenario.class,
                        "case=slow-decoder tokens=8",
                        Capability.LOW_LATENCY),
                Rule.of(
                        "7.3",
                        "the same inputs give the same bits, in every run and mode",
                        OrderScenario.class,
                        "case=same-bits logfmt data=BELOW_ONE hidden=256 tokens=10 max=17",
                        Capability.LOGFMT),
                Rule.of(
                        "7.4",
                        "200 rounds of random token counts, routings and options on one buffer",
                        RandomExchanges.class,
                        "rounds=200 seed=1",
                        EVERYTHING),
                Rule.of(
                        "7.5",
                        "200 rounds of random token counts, routings and options, with 9 experts per token and short last FP8 blocks",
                        RandomExchanges.class,
                        "rounds=200 seed=2 hidden=208 topk=9",
                        EVERYTHING),
                Rule.of(
                        "7.6",
                        "100 rounds of high throughput, without a pause between rounds",
                        Rounds.class,
                        "rounds=100 tokens=4 hidden=64",
                        Capability.HIGH_THROUGHPUT),
                Rule.of(
                        "7.7",
                        "100 rounds of low latency, without a pause between rounds",
                        Rounds.class,
                        "low-latency rounds=100 tokens=4 hidden=64",
                        BOTH));
    }
}
