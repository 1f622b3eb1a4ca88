package org.ep4j.tck;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.tck.rules.ConcurrencyRules;
import org.ep4j.tck.rules.FailureRules;
import org.ep4j.tck.rules.HighThroughputRules;
import org.ep4j.tck.rules.LifecycleRules;
import org.ep4j.tck.rules.LimitRules;
import org.ep4j.tck.rules.LowLatencyRules;
import org.ep4j.tck.rules.MisuseRules;
import org.ep4j.tck.rules.OrderRules;
import org.ep4j.tck.rules.ProbeRules;
import org.ep4j.tck.rules.RefusalRules;
import org.ep4j.tck.rules.StreamRules;

/** All rules. */
public final class RuleBook {
    private static final List<String> CHAPTERS = List.of(
            "1 probe and plan",
            "2 lifecycle",
            "3 high throughput",
            "4 low latency",
            "5 refusals",
            "6 failure",
            "7 order, visibility, soak",
            "8 limits",
            "9 concurrency",
            "10 streams and graphs of GPUs",
            "11 misuse");

    private RuleBook() {}

    /** The rules, by chapter. */
    public static List<Rule> all() {
        List<Rule> all = new ArrayList<>();
        all.addAll(ProbeRules.all());
        all.addAll(LifecycleRules.all());
        all.addAll(HighThroughputRules.all());
        all.addAll(LowLatencyRules.all());
        all.addAll(RefusalRules.all());
        all.addAll(FailureRules.all());
        all.addAll(OrderRules.all());
        all.addAll(LimitRules.all());
        all.addAll(ConcurrencyRules.all());
        all.addAll(StreamRules.all());
        all.addAll(MisuseRules.all());
        return all;
    }

    /** One rule. */
    public static Rule rule(String id) {
        return all().stream()
                .filter(rule -> rule.id().equals(id))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no rule " + id));
    }

    /** Title of a chapter. */
    public static String chapter(int number) {
        return CHAPTERS.get(number - 1);
    }
}
