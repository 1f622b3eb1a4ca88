package org.ep4j.tck;

import java.util.Set;

/** Parts of the kit that a transport runs in the tier "verify", where others run the rest. */
public final class RuleSamples {
    /** Exchanges in both modes, and refusals: most of the rules, and none of them for a single transport. */
    private static final Set<Integer> SHARED = Set.of(3, 4, 5);

    private RuleSamples() {}

    /**
     * Whether a rule of these chapters is in one of three parts; every rule of other chapters is.
     *
     * @param part from 0 to 2
     */
    public static boolean isThird(Rule rule, int part) {
        int number = Integer.parseInt(rule.id().substring(rule.id().indexOf('.') + 1));
        return !SHARED.contains(rule.chapter()) || number % 3 == part;
    }
}
