package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 9. */
public final class ConcurrencyRules {
    private ConcurrencyRules() {}

    /** The rules. */
    public static List<Rule> all() {
        return List.of(
                rule("9.1", "two buffers of a group, each with a thread, at once", "buffers"),
                rule("9.2", "two groups of the same ranks, each with a thread, at once", "groups"),
                rule("9.3", "both modes at once, each with a buffer and a thread", "modes"),
                rule("9.4", "operations come from any thread, one after another", "other-thread"));
    }

    private static Rule rule(String id, String text, String name) {
        return Rule.of(
                id,
                text,
                ConcurrencyScenario.class,
                "case=" + name,
                Capability.HIGH_THROUGHPUT,
                Capability.LOW_LATENCY);
    }
}
