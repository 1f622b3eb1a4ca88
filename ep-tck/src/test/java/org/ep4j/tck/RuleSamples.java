package org.ep4j.tck;

import java.util.Set;

/** Parts of the kit that a transport runs in the tier "verify", while other transports run the rest. */
public final class RuleSamples {
    /** Chapters on exchanges in both modes and on refusals, which have most of the rules and concern all transports. */
    private static final Set<Integer> SHARED = Set.of(3, 4, 5);

    private static final int FAILURES = 6;

    private RuleSamples() {}

    /**
     * Returns whether a rule is in one of three parts of these chapters; every rule of other chapters is.
     *
     * @param part from 0 to 2
     */
    public static boolean isThird(Rule rule, int part) {
        return !SHARED.contains(rule.chapter()) || number(rule) % 3 == part;
    }

    /**
     * Returns whether a rule is in one of two parts of the chapter on failures, whose rules mostly wait; every rule of other chapters is.
     *
     * @param part 0 or 1
     */
    public static boolean isHalfOfFailures(Rule rule, int part) {
        return rule.chapter() != FAILURES || number(rule) % 2 == part;
    }

    private static int number(Rule rule) {
        return Integer.parseInt(rule.id().substring(rule.id().indexOf('.') + 1));
    }
}
