package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Rule;

/** Chapter 1. */
public final class ProbeRules {
    private ProbeRules() {}

    /** The rules. */
    public static List<Rule> all() {
        return List.of(
                rule("1.1", "the provider is found, and has a valid id, SPI version and keys", "identity"),
                rule(
                        "1.2",
                        "a probe ends in time, its checks have codes, and a second probe finds the same facts",
                        "probe"),
                rule("1.3", "a probe of a device that does not exist fails a check, with a remedy", "strange-device"),
                rule("1.4", "the offer for a pair of ranks depends only on the profiles of these two ranks", "offer"),
                rule("1.5", "all ranks have the same plan, and it uses the required backend", "plan"),
                rule("1.6", "a required backend that is not installed is refused by name", "unknown-backend"),
                rule(
                        "1.7",
                        "an offer depends on facts, on locality, and on which hosts, domains and identities are equal,"
                                + " but not on how these are named",
                        "names"));
    }

    private static Rule rule(String id, String text, String name) {
        return Rule.of(id, text, ProbeScenario.class, "case=" + name);
    }
}
