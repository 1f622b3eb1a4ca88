package org.ep4j.tck;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.tck.rules.ConcurrencyScenario;
import org.ep4j.tck.rules.FailureRules;
import org.ep4j.tck.rules.HighThroughputRules;
import org.ep4j.tck.rules.LifecycleRules;
import org.ep4j.tck.rules.LimitRules;
import org.ep4j.tck.rules.LowLatencyRules;
import org.ep4j.tck.rules.MisuseRules;
import org.ep4j.tck.rules.OrderRules;
import org.ep4j.tck.rules.ProbeScenario;
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
        all.addAll(probeAndPlan());
        all.addAll(LifecycleRules.all());
        all.addAll(HighThroughputRules.all());
        all.addAll(LowLatencyRules.all());
        all.addAll(RefusalRules.all());
        all.addAll(FailureRules.all());
        all.addAll(OrderRules.all());
        all.addAll(LimitRules.all());
        all.addAll(concurrency());
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

    private static List<Rule> probeAndPlan() {
        return List.of(
                probe("1.1", "the provider is found, and has a valid id, SPI version and keys", "identity"),
                probe(
                        "1.2",
                        "a probe ends in time, its checks have codes, and a second probe finds the same facts",
                        "probe"),
                probe("1.3", "a probe of a device that does not exist fails a check, with a remedy", "strange-device"),
                probe("1.4", "the offer for a pair of ranks depends only on the profiles of these two ranks", "offer"),
                probe("1.5", "all ranks have the same plan, and it uses the required backend", "plan"),
                probe("1.6", "a required backend that is not installed is refused by name", "unknown-backend"),
                probe(
                        "1.7",
                        "an offer depends on facts, on locality, and on which hosts, domains and identities are equal,"
                                + " but not on how these are named",
                        "names"));
    }

    private static Rule probe(String id, String text, String name) {
        return Rule.of(id, text, ProbeScenario.class, "case=" + name);
    }

    private static List<Rule> concurrency() {
        return List.of(
                concurrent("9.1", "two buffers of a group are used at once, each by its own thread", "buffers"),
                concurrent("9.2", "two groups of the same ranks are used at once, each by its own thread", "groups"),
                concurrent("9.3", "both modes are used at once, each with its own buffer and thread", "modes"),
                concurrent(
                        "9.4",
                        "the operations of a buffer can be called from different threads, one call after another",
                        "other-thread"));
    }

    private static Rule concurrent(String id, String text, String name) {
        return Rule.of(
                id,
                text,
                ConcurrencyScenario.class,
                "case=" + name,
                Capability.HIGH_THROUGHPUT,
                Capability.LOW_LATENCY);
    }
}
