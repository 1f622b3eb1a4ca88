package org.ep4j.tck;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.Scenario;

/**
 * A requirement on every backend, as data: a scenario with parameters that fails when the rule is broken.
 *
 * @param id chapter and number, never reused: {@code 3.14}
 * @param text the requirement
 * @param needs capabilities that a subject must declare
 * @param absent for mirror rules: the capability that a subject must not declare
 * @param modes in which the rule can be tested
 * @param ranks fixed number of ranks, or 0 for the number of the run
 * @param minRanks fewest ranks that the rule makes sense with
 * @param victims ranks that are killed, so that the rule needs ranks of its own
 * @param scenario code that the ranks run
 * @param params of the scenario
 * @param timeout time after which the ranks count as hung
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

    /** Copies the sets, and completes the capabilities. */
    public Rule {
        needs = Capability.closure(needs);
        modes = Set.copyOf(modes);
        victims = Set.copyOf(victims);
    }

    /**
     * Parses a line of {@code rules.txt}, whose head explains the form.
     *
     * @throws IllegalArgumentException with the line and what is wrong with it
     */
    public static Rule parse(String line) {
        try {
            return parse(line.split(" *\\| *", -1));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("rule \"" + line + "\": " + e.getMessage(), e);
        }
    }

    private static Rule parse(String[] cells) {
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

    /** Loads a scenario without initialising it: some read {@code EP_TCK_PATIENCE} then, which may be refused later. */
    private static Class<? extends Scenario> scenario(String name) {
        try {
            return Class.forName(name.contains(".") ? name : SCENARIOS + name, false, Rule.class.getClassLoader())
                    .asSubclass(Scenario.class);
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException("no scenario " + name, e);
        }
    }

    /** Returns a copy with another timeout. */
    public Rule within(Duration limit) {
        return new Rule(id, text, needs, absent, modes, ranks, minRanks, victims, scenario, params, limit);
    }

    /** Returns whether the rule needs ranks of its own, since some are killed. */
    public boolean fresh() {
        return !victims.isEmpty();
    }

    /** Returns the number of the chapter. */
    public int chapter() {
        return Integer.parseInt(id.substring(0, id.indexOf('.')));
    }

    /** Returns the number of ranks of the rule in a run with {@code requested} ranks. */
    public int ranksFor(int requested) {
        return ranks > 0 ? ranks : Math.max(minRanks, requested);
    }
}
