package org.ep4j.tck;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.crew.Scenario;

/**
 * One thing that every backend must do, as data: a scenario with parameters that fails when the rule is broken.
 *
 * @param id chapter and number, never reused: {@code 3.14}
 * @param text the rule
 * @param needs what a subject must declare
 * @param absent for mirror rules: what a subject must not declare
 * @param modes in which it can be tested
 * @param ranks fixed number of ranks, or 0 for the number of the run
 * @param minRanks fewest ranks it makes sense with
 * @param fresh true when it needs ranks of its own, since some die
 * @param victims ranks that die in it
 * @param scenario what the ranks do
 * @param params what they are told
 * @param timeout longest time before the ranks are taken for hung
 */
public record Rule(
        String id,
        String text,
        Set<Capability> needs,
        Optional<Capability> absent,
        Set<RankMode> modes,
        int ranks,
        int minRanks,
        boolean fresh,
        Set<Integer> victims,
        Class<? extends Scenario> scenario,
        Params params,
        Duration timeout) {
    private static final Duration TIMEOUT = Duration.ofSeconds(90);

    /** Copies the sets. */
    public Rule {
        needs = Capability.closure(needs);
        modes = Set.copyOf(modes);
        victims = Set.copyOf(victims);
    }

    /** A rule for any number of ranks from 2 on, in both modes. */
    public static Rule of(
            String id, String text, Class<? extends Scenario> scenario, String params, Capability... needs) {
        return new Rule(
                id,
                text,
                Set.of(needs),
                Optional.empty(),
                EnumSet.allOf(RankMode.class),
                0,
                2,
                false,
                Set.of(),
                scenario,
                Params.parse(params),
                TIMEOUT);
    }

    /** The same, only for subjects that do not declare {@code capability}. */
    public Rule onlyWithout(Capability capability) {
        return new Rule(
                id,
                text,
                needs,
                Optional.of(capability),
                modes,
                ranks,
                minRanks,
                fresh,
                victims,
                scenario,
                params,
                timeout);
    }

    /** The same, always with {@code number} ranks. */
    public Rule withRanks(int number) {
        return new Rule(id, text, needs, absent, modes, number, 1, fresh, victims, scenario, params, timeout);
    }

    /** The same, with at least {@code number} ranks. */
    public Rule atLeast(int number) {
        return new Rule(id, text, needs, absent, modes, ranks, number, fresh, victims, scenario, params, timeout);
    }

    /** The same, in one mode. */
    public Rule only(RankMode mode) {
        return new Rule(
                id, text, needs, absent, Set.of(mode), ranks, minRanks, fresh, victims, scenario, params, timeout);
    }

    /** The same, with ranks that die in it. */
    public Rule killing(Set<Integer> ranksThatDie) {
        return new Rule(id, text, needs, absent, modes, ranks, minRanks, true, ranksThatDie, scenario, params, timeout);
    }

    /** The same, with another longest time. */
    public Rule within(Duration longest) {
        return new Rule(id, text, needs, absent, modes, ranks, minRanks, fresh, victims, scenario, params, longest);
    }

    /** Number of the chapter. */
    public int chapter() {
        return Integer.parseInt(id.substring(0, id.indexOf('.')));
    }

    /** Ranks it runs with when the run has {@code requested}. */
    public int ranksFor(int requested) {
        return ranks > 0 ? ranks : Math.max(minRanks, requested);
    }
}
