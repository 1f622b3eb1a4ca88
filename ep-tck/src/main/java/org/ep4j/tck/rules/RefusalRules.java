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

    public static List<Rule> all() {
        List<Rule> rules = new ArrayList<>(List.of(
                mismatch("5.1", "a buffer is refused on all ranks if its shape differs between ranks", "shape"),
                mismatch("5.2", "a group is refused on all ranks if its settings differ between ranks", "settings"),
                mismatch(
                        "5.3",
                        "if ranks call different operations, all ranks get an exception and can recover",
                        "operation"),
                mismatch("5.4", "a dispatch is refused on all ranks if its options differ between ranks", "options"),
                mismatch(
                        "5.5",
                        "a combine is refused on all ranks if its options differ between ranks",
                        "combine-options",
                        Capability.BY_EXPERT,
                        Capability.RANK_PARTIAL),
                mismatch(
                        "5.6",
                        "a low-latency operation is refused on all ranks if its options differ between ranks",
                        "low-latency-options",
                        Capability.FP8_WIRE,
                        Capability.LOGFMT),
                mismatch("5.7", "a rank whose call is refused can correct the call while the others wait", "one-wrong"),
                mismatch(
                        "5.8",
                        "too many rows for one rank are reported on all ranks, before any row moves",
                        "overflow"),
                mismatch(
                        "5.9",
                        "duplicate selections are refused if the expert has no room for their rows",
                        "crowded-expert")));
        rules.addAll(refusals(FIRST_DISPATCH, HighThroughputRefusals.dispatches()));
        rules.addAll(refusals(FIRST_COMBINE, HighThroughputRefusals.combines()));
        rules.addAll(refusals(FIRST_LOW_DISPATCH, LowLatencyRefusals.dispatches()));
        rules.addAll(refusals(FIRST_LOW_COMBINE, LowLatencyRefusals.combines()));
        rules.addAll(refusals(FIRST_OTHER, OtherRefusals.all()));
        int undeclared = FIRST_UNDECLARED;
        for (Capability capability : Capability.values()) {
            Rule rule = Rule.of(
                            "5." + undeclared++,
                            capability + " is refused if this capability is not declared for the tested backend",
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
