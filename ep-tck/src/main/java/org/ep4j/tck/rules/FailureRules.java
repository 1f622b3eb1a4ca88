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

    public static List<Rule> all() {
        List<Rule> rules = new ArrayList<>();
        rules.add(rule(
                "6.1",
                "if a rank does not call a barrier, the others get an exception in time, which names this rank",
                "timeout op=barrier"));
        int number = 2;
        for (String operation : OPERATIONS) {
            rules.add(rule(
                    "6." + number++,
                    "if a rank does not call " + operation
                            + ", the others get an exception in time, which names this rank; all ranks recover",
                    "timeout op=" + operation));
        }
        rules.add(rule(
                "6.6",
                "a rank that calls an operation after the others have given up gets an exception; all ranks recover",
                "too-late op=ht-dispatch"));
        rules.add(always(
                "6.7", "createBuffer() ends in time with an exception if one rank does not call it", "create-timeout"));
        rules.add(
                always("6.8", "if a rank closes its group, the exception of the other ranks names this rank", "leave"));
        rules.add(always("6.9", "a rank that is alive can be masked, and unmasked later", "mask", Capability.MASK));
        number = 10;
        for (String operation : OPERATIONS) {
            rules.add(death(
                    "6." + number++,
                    "the exception names a rank that died before " + operation + "; the other ranks go on",
                    operation,
                    "before",
                    1));
        }
        rules.add(rule(
                        "6.14",
                        "a barrier does not wait for a rank that died",
                        "kill op=ht-dispatch when=before victims=1 barrier")
                .killing(Set.of(1)));
        rules.add(rule(
                        "6.15",
                        "a barrier after the death of rank 0 does not wait for rank 0, or names rank 0 in an exception",
                        "kill op=ht-dispatch when=before victims=0 barrier")
                .killing(Set.of(0)));
        rules.add(rule(
                "6.16",
                "if a rank does not call an asynchronous operation, the others get an exception in time",
                "timeout op=ht-async"));
        rules.add(rule(
                "6.17", "receive() ends in time with an exception if a rank does not send", "timeout op=ll-receive"));
        rules.add(rule(
                "6.18",
                "if a rank does not call recover(), the others get an exception in time; the next recovery, which all ranks"
                        + " call, succeeds",
                "timeout op=recover"));
        number = 20;
        for (String operation : OPERATIONS) {
            rules.add(death(
                            "6." + number++,
                            "the exception names a rank that was killed inside " + operation
                                    + "; the other ranks go on",
                            operation,
                            "inside",
                            1)
                    .only(RankMode.PROCESSES));
        }
        rules.add(death(
                        "6.24",
                        "the exception names rank 0, which was killed inside ht-dispatch; the other ranks go on",
                        "ht-dispatch",
                        "inside",
                        0)
                .only(RankMode.PROCESSES));
        rules.add(death(
                        "6.25",
                        "the exception names rank 0, which was killed inside ll-combine; the other ranks go on",
                        "ll-combine",
                        "inside",
                        0)
                .only(RankMode.PROCESSES));
        rules.add(death(
                        "6.26",
                        "the exception names a rank that was killed during a loop of ht-dispatch; the other ranks go on",
                        "ht-dispatch",
                        "loop",
                        1)
                .only(RankMode.PROCESSES));
        rules.add(death(
                        "6.27",
                        "the exception names a rank that was killed during a loop of ll-dispatch; the other ranks go on",
                        "ll-dispatch",
                        "loop",
                        1)
                .only(RankMode.PROCESSES));
        rules.add(death(
                        "6.28",
                        "after two ranks were killed at once, the other ranks go on",
                        "ht-combine",
                        "inside",
                        1,
                        3)
                .only(RankMode.PROCESSES)
                .atLeast(4));
        rules.add(death(
                        "6.29",
                        "after rank 0 and another rank were killed at once, the other ranks go on",
                        "ht-combine",
                        "inside",
                        0,
                        2)
                .only(RankMode.PROCESSES)
                .atLeast(4));
        number = 40;
        for (String operation : OPERATIONS) {
            rules.add(fixed(
                    "6." + number++,
                    "if a rank does not call " + operation
                            + ", the others get an exception in time, which names this rank; recovery is refused",
                    "timeout op=" + operation));
        }
        for (String operation : OPERATIONS) {
            rules.add(fixed(
                            "6." + number++,
                            "the exception names a rank that died before " + operation + "; recovery is refused",
                            "kill op=" + operation + " when=before victims=1")
                    .killing(Set.of(1)));
        }
        rules.add(always(
                "6.50",
                "a rank that is masked after a high-throughput dispatch adds nothing to the combine of this dispatch",
                "mask-late",
                Capability.MASK,
                Capability.BIAS,
                Capability.RANK_PARTIAL));
        rules.add(always(
                        "6.51",
                        "a rank that is masked after a low-latency dispatch adds nothing to the combine of this"
                                + " dispatch, and gets an exception that names this rank from recover()",
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
