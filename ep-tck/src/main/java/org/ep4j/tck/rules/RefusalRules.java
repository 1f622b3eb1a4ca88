package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;

/** Chapter 5. */
public final class RefusalRules {
    private static final Capability[] BOTH = {Capability.HIGH_THROUGHPUT, Capability.LOW_LATENCY};

    /** Numbers of rules are for ever: new cases go to the ends of their lists, and each list has room to grow. */
    private static final int FIRST_DISPATCH = 20;

    private static final int FIRST_COMBINE = 60;
    private static final int FIRST_LOW_DISPATCH = 80;
    private static final int FIRST_LOW_COMBINE = 100;
    private static final int FIRST_OTHER = 120;
    private static final int FIRST_UNDECLARED = 200;

    private RefusalRules() {}

    /** The rules. */
    public static List<Rule> all() {
        List<Rule> rules = new ArrayList<>(List.of(
                mismatch("5.1", "buffers of different shapes are refused on all ranks", "shape"),
                mismatch("5.2", "groups of different settings are refused on all ranks", "settings"),
                mismatch("5.3", "different operations are refused on all ranks, which can recover", "operation"),
                mismatch("5.4", "different options of a dispatch are refused on all ranks", "options"),
                mismatch(
                        "5.5",
                        "different options of a combine are refused on all ranks",
                        "combine-options",
                        Capability.BY_EXPERT,
                        Capability.RANK_PARTIAL),
                mismatch(
                        "5.6",
                        "different options of low latency are refused on all ranks",
                        "low-latency-options",
                        Capability.FP8_WIRE,
                        Capability.LOGFMT),
                mismatch("5.7", "a rank that is refused corrects itself while the others wait", "one-wrong"),
                mismatch("5.8", "too many rows for one rank are reported on all, before any moves", "overflow"),
                mismatch("5.9", "duplicates that would not fit into an expert's rows are refused", "crowded-expert"),
                mismatch(
                        "5.10",
                        "gradients of different types are refused on all ranks",
                        "gradients",
                        Capability.CACHED_ROUTING,
                        Capability.FP8_ROWS)));
        rules.addAll(refusals(FIRST_DISPATCH, HighThroughputRefusals.dispatches()));
        rules.addAll(refusals(FIRST_COMBINE, HighThroughputRefusals.combines()));
        rules.addAll(refusals(FIRST_LOW_DISPATCH, LowLatencyRefusals.dispatches()));
        rules.addAll(refusals(FIRST_LOW_COMBINE, LowLatencyRefusals.combines()));
        rules.addAll(refusals(FIRST_OTHER, OtherRefusals.all()));
        int undeclared = FIRST_UNDECLARED;
        for (Capability capability : Capability.values()) {
            Rule rule = Rule.of(
                            "5." + undeclared++,
                            capability + " is refused where it is not declared",
                            UndeclaredScenario.class,
                            "capability=" + capability)
                    .onlyWithout(capability);
            // Ranks of the other mode say nothing about this one.
            rules.add(
                    switch (capability) {
                        case THREADS -> rule.only(RankMode.THREADS);
                        case PROCESSES -> rule.only(RankMode.PROCESSES);
                        default -> rule;
                    });
        }
        return rules;
    }

    private static List<Rule> refusals(int first, List<Refusal> refusals) {
        List<Rule> rules = new ArrayList<>();
        for (Refusal refusal : refusals) {
            Rule rule = Rule.of(
                    "5." + (first + rules.size()),
                    "refused: " + refusal.text(),
                    RefusalScenario.class,
                    "case=" + refusal.name(),
                    BOTH);
            // A driver cannot tell a wrong handle of a stream from a right one.
            rules.add(refusal.name().equals("stream") ? rule.onlyWithout(Capability.STREAMS) : rule);
        }
        return rules;
    }

    private static Rule mismatch(String id, String text, String name, Capability... needs) {
        List<Capability> all = new ArrayList<>(List.of(BOTH));
        all.addAll(List.of(needs));
        return Rule.of(id, text, MismatchScenario.class, "case=" + name, all.toArray(Capability[]::new));
    }
}
