package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Rule;

/** Chapter 1. */
public final class ProbeRules {
    private ProbeRules() {}

    /** The rules. */
    public static List<Rule> all() {
        return List.of(
                rule("1.1", "the provider is found, has a valid id, SPI version and keys", "identity"),
                rule("1.2", "a probe gives checks with codes, twice the same facts, in time", "probe"),
                rule("1.3", "a device that does not exist is a failed check with a remedy", "strange-device"),
                rule("1.4", "an offer depends on the two profiles alone", "offer"),
                rule("1.5", "all ranks have the same plan, and it uses the required backend", "plan"),
                rule("1.6", "a required backend that is not there is refused by name", "unknown-backend"),
                rule(
                        "1.7",
                        "an offer depends on facts, locality and which hosts, domains and identities are equal",
                        "names"));
    }

    private static Rule rule(String id, String text, String name) {
        return Rule.of(id, text, ProbeScenario.class, "case=" + name);
    }
}
