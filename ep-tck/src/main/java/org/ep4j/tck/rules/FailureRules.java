package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.ep4j.tck.Capability;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;

/** Chapter 6. */
public final class FailureRules {
    private static final List<String> OPERATIONS = List.of("ht-dispatch", "ht-combine", "ll-dispatch", "ll-combine");

    private FailureRules() {}

    /** The rules. */
    public static List<Rule> all() {
        List<Rule> rules = new ArrayList<>();
        rules.add(
                rule("6.1", "a barrier that a rank does not come to ends in time and names it", "timeout op=barrier"));
        int number = 2;
        for (String operation : OPERATIONS) {
            rules.add(rule(
                    "6." + number++,
                    operation + " that a rank does not call ends in time and names it; all recover",
                    "timeout op=" + operation));
        }
        rules.add(rule(
                "6.6",
                "a rank that comes when the others have given up is told, and all recover",
                "too-late op=ht-dispatch"));
        rules.add(always("6.7", "creating a buffer that a rank does not create ends in time", "create-timeout"));
        rules.add(always("6.8", "a rank that left is named", "leave"));
        rules.add(always("6.9", "a living rank is left out and taken back", "mask", Capability.MASK));
        number = 10;
        for (String operation : OPERATIONS) {
            rules.add(death(
                    "6." + number++,
                    "a rank that died before " + operation + " is named; the others go on",
                    operation,
                    "before",
                    1));
        }
        rules.add(rule(
                        "6.14",
                        "a barrier leaves out a rank that died",
                        "kill op=ht-dispatch when=before victims=1 barrier")
                .killing(Set.of(1)));
        rules.add(rule(
                        "6.15",
                        "a barrier leaves out rank 0 that died, or names it",
                        "kill op=ht-dispatch when=before victims=0 barrier")
                .killing(Set.of(0)));
        rules.add(rule(
                "6.16", "an asynchronous operation that a rank does not call ends in time", "timeout op=ht-async"));
        rules.add(rule("6.17", "a receive() whose sender does not come ends in time", "timeout op=ll-receive"));
        rules.add(rule(
                "6.18",
                "a recovery that a rank does not come to ends in time, and the next one aligns all ranks",
                "timeout op=recover"));
        number = 20;
        for (String operation : OPERATIONS) {
            rules.add(death(
                            "6." + number++,
                            "a rank killed inside " + operation + " is named; the others go on",
                            operation,
                            "inside",
                            1)
                    .only(RankMode.PROCESSES));
        }
        rules.add(death("6.24", "rank 0 killed inside ht-dispatch", "ht-dispatch", "inside", 0)
                .only(RankMode.PROCESSES));
        rules.add(death("6.25", "rank 0 killed inside ll-combine", "ll-combine", "inside", 0)
                .only(RankMode.PROCESSES));
        rules.add(death("6.26", "a rank killed anywhere in a row of ht-dispatch", "ht-dispatch", "loop", 1)
                .only(RankMode.PROCESSES));
        rules.add(death("6.27", "a rank killed anywhere in a row of ll-dispatch", "ll-dispatch", "loop", 1)
                .only(RankMode.PROCESSES));
        rules.add(death("6.28", "two ranks killed at once", "ht-combine", "inside", 1, 3)
                .only(RankMode.PROCESSES)
                .atLeast(4));
        rules.add(death("6.29", "rank 0 and another rank killed at once", "ht-combine", "inside", 0, 2)
                .only(RankMode.PROCESSES)
                .atLeast(4));
        number = 40;
        for (String operation : OPERATIONS) {
            rules.add(fixed(
                    "6." + number++,
                    operation + " that a rank does not call ends in time and names it; recover is refused",
                    "timeout op=" + operation));
        }
        for (String operation : OPERATIONS) {
            rules.add(fixed(
                            "6." + number++,
                            "a rank that died before " + operation + " is named; recover is refused",
                            "kill op=" + operation + " when=before victims=1")
                    .killing(Set.of(1)));
        }
        rules.add(always(
                "6.50",
                "a rank that is masked after a high-throughput dispatch adds nothing to its combine",
                "mask-late",
                Capability.MASK,
                Capability.BIAS,
                Capability.RANK_PARTIAL));
        rules.add(always(
                        "6.51",
                        "a rank that is masked after a low-latency dispatch adds nothing to its combine, and is left out",
                        "mask-uncombined",
                        Capability.RECOVER,
                        Capability.RANK_PARTIAL)
                .atLeast(3));
        return rules;
    }

    /** For subjects whose buffers cannot recover. */
    private static Rule fixed(String id, String text, String params) {
        return always(id, text, params + " fixed").onlyWithout(Capability.RECOVER);
    }

    private static Rule rule(String id, String text, String params) {
        return always(id, text, params, Capability.RECOVER);
    }

    private static Rule always(String id, String text, String params, Capability... more) {
        Set<Capability> needs = EnumSet.of(Capability.HIGH_THROUGHPUT, Capability.LOW_LATENCY, Capability.BY_EXPERT);
        needs.addAll(List.of(more));
        return Rule.of(id, text, FailureScenario.class, "case=" + params, needs.toArray(Capability[]::new));
    }

    private static Rule death(String id, String text, String operation, String when, int... victims) {
        StringBuilder list = new StringBuilder();
        Set<Integer> set = new java.util.TreeSet<>();
        for (int victim : victims) {
            list.append(set.isEmpty() ? "" : ",").append(victim);
            set.add(victim);
        }
        return rule(id, text, "kill op=" + operation + " when=" + when + " victims=" + list)
                .killing(set);
    }
}
