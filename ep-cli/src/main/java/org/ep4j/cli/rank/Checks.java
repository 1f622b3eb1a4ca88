package org.ep4j.cli.rank;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.ep4j.cli.rank.RankMessage.Validated;

/** Counts what was compared with the reference, and keeps each operation's first difference. */
final class Checks {
    private final Map<String, Validated> results = new LinkedHashMap<>();

    /** Runs a comparison that returns how many elements it compared and throws an error at the first difference. */
    void check(String operation, LongSupplier comparison) {
        Validated before = results.getOrDefault(operation, new Validated(operation, 0, ""));
        long elements = 0;
        String problem = before.problem();
        try {
            elements = comparison.getAsLong();
        } catch (AssertionError e) {
            problem = problem.isEmpty() ? String.valueOf(e.getMessage()) : problem;
        }
        results.put(operation, new Validated(operation, before.elements() + elements, problem));
    }

    List<Validated> results() {
        return List.copyOf(results.values());
    }
}
