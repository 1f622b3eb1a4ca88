package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;

/** Rules of chapter 5 for each {@link Refusal}, and for each capability where it is not declared. */
public final class RefusalRules {
    /** Numbers of rules are for ever: new cases go to the ends of their lists, and each list has room to grow. */
    private static final int FIRST_DISPATCH = 20;

    private static final int FIRST_COMBINE = 60;
    private static final int FIRST_LOW_DISPATCH = 80;
    private static final int FIRST_LOW_COMBINE = 100;
    private static final int FIRST_OTHER = 120;
    private static final int FIRST_UNDECLARED = 200;

    private RefusalRules() {}

    public static List<Rule> all() {
        List<Rule> rules = new ArrayList<>();
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
                    Capability.HIGH_THROUGHPUT,
                    Capability.LOW_LATENCY);
            // A driver cannot tell a wrong handle of a stream from a right one.
            rules.add(refusal.name().equals("stream") ? rule.onlyWithout(Capability.STREAMS) : rule);
        }
        return rules;
    }
}
