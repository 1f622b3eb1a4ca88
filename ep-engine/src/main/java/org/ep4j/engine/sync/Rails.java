package org.ep4j.engine.sync;

import java.util.List;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;

/**
 * Who passes rows on. Where a plan falls into islands (ranks that map each other's memory, most often those of one host) with
 * posted paths between them, a token goes to an island once, to the rank there that has the sender's place in its own island,
 * counted round, and from there by stores to all ranks of the island that it is for. Such a pair of ranks most often has NICs
 * of one rail. Immutable; the same on all ranks.
 */
public final class Rails {
    private final boolean posted;

    private final Islands islands;

    private Rails(boolean posted, Islands islands) {
        this.posted = posted;
        this.islands = islands;
    }

    /** Nothing is posted. */
    public static Rails none() {
        return new Rails(false, Islands.NONE);
    }

    /** The rails of a plan. */
    public static Rails of(EpPlan plan) {
        if (plan.groups().stream().allMatch(g -> isMapped(g.example().offer().kind()))) {
            return none();
        }
        if (!plan.options().rails()) {
            return straight();
        }
        return Islands.of(plan).map(islands -> new Rails(true, islands)).orElseGet(Rails::straight);
    }

    private static Rails straight() {
        return new Rails(true, Islands.NONE);
    }

    private static boolean isMapped(PathKind kind) {
        return kind == PathKind.MAPPED || kind == PathKind.LOCAL;
    }

    /** True when some ranks post to others. */
    public boolean posted() {
        return posted;
    }

    /** True when some ranks pass on what others send. */
    public boolean passes() {
        return islands.count() > 1 && islands.largest() > 1;
    }

    /** True when {@code a} and {@code b} are of one island, or nothing is passed on. */
    public boolean together(int a, int b) {
        return islands.count() == 0 || islands.of(a) == islands.of(b);
    }

    /**
     * The rank that passes on what {@code source} sends to {@code target}; -1 where it goes straight: inside of an island, to
     * a rank that is an island alone, or when that rank is masked.
     */
    public int via(int source, int target, Mask mask) {
        if (together(source, target)) {
            return -1;
        }
        List<Integer> there = islands.members(target);
        int via = there.get(islands.place(source) % there.size());
        return there.size() == 1 || mask.has(via) ? -1 : via;
    }

    /** Which of those whose rows {@code via} passes on {@code source} is, from 0; it must be one of them. */
    public int slot(int source, int via) {
        return islands.alikeBelow(source, islands.members(via).size()) - (via < source ? 1 : 0);
    }

    /** Most ranks whose rows one rank passes on. */
    public int mostSources() {
        return islands.mostSources();
    }
}
