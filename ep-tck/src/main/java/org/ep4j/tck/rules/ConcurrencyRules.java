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
                rule("9.1", "two buffers of a group are used at once, each by its own thread", "buffers"),
                rule("9.2", "two groups of the same ranks are used at once, each by its own thread", "groups"),
                rule("9.3", "both modes are used at once, each with its own buffer and thread", "modes"),
                rule(
                        "9.4",
                        "the operations of a buffer can be called from different threads, one call after another",
                        "other-thread"));
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
