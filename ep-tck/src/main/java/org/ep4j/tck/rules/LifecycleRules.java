package org.ep4j.tck.rules;

import java.util.List;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Rule;

/** Chapter 2. */
public final class LifecycleRules {
    private static final Capability[] BOTH = {Capability.HIGH_THROUGHPUT, Capability.LOW_LATENCY};

    private LifecycleRules() {}

    public static List<Rule> all() {
        return List.of(
                rule("2.1", "a group knows its rank, size and device", "group"),
                rule(
                                "2.2",
                                "a group of one rank exchanges with itself",
                                "one-rank",
                                Capability.BY_EXPERT,
                                Capability.FP8_WIRE)
                        .withRanks(1),
                rule("2.3", "a buffer reports its shape and placement", "placement"),
                Rule.of(
                        "2.4",
                        "a buffer reports the placement that the caller gave",
                        LifecycleScenario.class,
                        "case=placement placement=stride experts=13",
                        Capability.PLACEMENT),
                rule(
                        "2.5",
                        "bufferSize() gives the exact size of a buffer before it is created; maxRows() and"
                                + " maxLowLatencyRows() give the most rows",
                        "size"),
                rule("2.6", "several buffers of a group are used in turn", "buffers", BOTH),
                rule("2.7", "two groups of the same ranks are used in turn", "groups", BOTH),
                rule(
                        "2.8",
                        "buffers can be closed in any order, and twice, without waiting for other ranks",
                        "close-order",
                        Capability.HIGH_THROUGHPUT),
                rule("2.9", "a group closes its buffers", "close-group-first", Capability.HIGH_THROUGHPUT),
                rule(
                        "2.10",
                        "a rank that closes early does not disturb the others' last operations",
                        "close-uneven",
                        BOTH),
                rule("2.11", "operations and results of a closed buffer are refused", "after-close", BOTH),
                rule(
                        "2.12",
                        "buffers that are created and closed leave no files or mappings behind",
                        "no-leak",
                        Capability.HIGH_THROUGHPUT),
                rule("2.13", "no rank leaves a barrier before all have entered it", "barrier"),
                rule("2.14", "a mode that the shape leaves out is refused", "one-mode", BOTH),
                rule(
                        "2.15",
                        "operations are correct when the operation counter passes 2^31 and 2^32, and near its largest value",
                        "numbers",
                        BOTH));
    }

    private static Rule rule(String id, String text, String name, Capability... needs) {
        return Rule.of(id, text, LifecycleScenario.class, "case=" + name, needs);
    }
}
