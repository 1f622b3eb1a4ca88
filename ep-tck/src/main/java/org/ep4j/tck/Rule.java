package org.ep4j.tck;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
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
 * @param victims ranks that die in it, so that it needs ranks of its own
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
        Set<Integer> victims,
        Class<? extends Scenario> scenario,
        Params params,
        Duration timeout) {
    private static final Duration TIMEOUT = Duration.ofSeconds(90);
    private static final String SCENARIOS = "org.ep4j.tck.rules.";
    private static final Set<String> CONDITIONS = Set.of("without", "only", "ranks", "least");

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
                Set.of(),
                scenario,
                Params.parse(params),
                TIMEOUT);
    }

    /**
     * Reads a line of {@code rules.txt}, whose head explains the form.
     *
     * @throws IllegalArgumentException with the line and what is wrong with it
     */
    static Rule parse(String line) {
        try {
            return read(line.split(" *\\| *", -1));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("rule \"" + line + "\": " + e.getMessage(), e);
        }
    }

    private static Rule read(String[] cells) {
        if (cells.length != 4) {
            throw new IllegalArgumentException(cells.length + " cells, must be 4");
        }
        Params conditions = Params.parse(cells[1]);
        String scenario = cells[2].split(" ", 2)[0];
        Params params = Params.parse(cells[2].substring(scenario.length()));
        int ranks = conditions.number("ranks", 0);
        return new Rule(
                cells[0],
                cells[3],
                conditions.values().keySet().stream()
                        .filter(name -> !CONDITIONS.contains(name))
                        .map(Capability::valueOf)
                        .collect(Collectors.toSet()),
                Optional.ofNullable(conditions.values().get("without")).map(Capability::valueOf),
                Optional.ofNullable(conditions.values().get("only"))
                        .map(mode -> Set.of(RankMode.valueOf(mode)))
                        .orElseGet(() -> EnumSet.allOf(RankMode.class)),
                ranks,
                conditions.number("least", ranks > 0 ? 1 : 2),
                Set.copyOf(params.numbers("victims")),
                scenario(scenario),
                params,
                TIMEOUT);
    }

    /** The class of a scenario, which is not initialised here: some look at {@code EP_TCK_PATIENCE}, which may be refused later. */
    private static Class<? extends Scenario> scenario(String name) {
        try {
            return Class.forName(SCENARIOS + name, false, Rule.class.getClassLoader())
                    .asSubclass(Scenario.class);
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException("no scenario " + name, e);
        }
    }

    /** The same, only for subjects that do not declare {@code capability}. */
    public Rule onlyWithout(Capability capability) {
        return new Rule(
                id, text, needs, Optional.of(capability), modes, ranks, minRanks, victims, scenario, params, timeout);
    }

    /** The same, always with {@code number} ranks. */
    public Rule withRanks(int number) {
        return new Rule(id, text, needs, absent, modes, number, 1, victims, scenario, params, timeout);
    }

    /** The same, in one mode. */
    public Rule only(RankMode mode) {
        return new Rule(id, text, needs, absent, Set.of(mode), ranks, minRanks, victims, scenario, params, timeout);
    }

    /** The same, with ranks that die in it. */
    public Rule killing(Set<Integer> ranksThatDie) {
        return new Rule(id, text, needs, absent, modes, ranks, minRanks, ranksThatDie, scenario, params, timeout);
    }

    /** The same, with another longest time. */
    public Rule within(Duration longest) {
        return new Rule(id, text, needs, absent, modes, ranks, minRanks, victims, scenario, params, longest);
    }

    /** True when it needs ranks of its own, since some die. */
    public boolean fresh() {
        return !victims.isEmpty();
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
