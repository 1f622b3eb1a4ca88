package org.ep4j.tck.crew;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Parameters of a scenario.
 *
 * @param values by name
 */
public record Params(Map<String, String> values) {
    /** Reads {@code name=value name=value flag}; a name alone means {@code true}. */
    public static Params parse(String text) {
        Map<String, String> values = new TreeMap<>();
        for (String part : text.split(" ", -1)) {
            if (!part.isEmpty()) {
                int equals = part.indexOf('=');
                values.put(
                        equals < 0 ? part : part.substring(0, equals),
                        equals < 0 ? "true" : part.substring(equals + 1));
            }
        }
        return new Params(Collections.unmodifiableMap(values));
    }

    /** A value, or {@code absent}. */
    public String text(String name, String absent) {
        return values.getOrDefault(name, absent);
    }

    /** A number, or {@code absent}. */
    public int number(String name, int absent) {
        return Integer.parseInt(values.getOrDefault(name, Integer.toString(absent)));
    }

    /** Numbers between commas; none where it is absent. */
    public List<Integer> numbers(String name) {
        return Stream.of(text(name, "").split(",", -1))
                .filter(part -> !part.isEmpty())
                .map(Integer::valueOf)
                .toList();
    }

    /** A fraction, or {@code absent}. */
    public double fraction(String name, double absent) {
        return Double.parseDouble(values.getOrDefault(name, Double.toString(absent)));
    }

    /** True when it is there and not {@code false}. */
    public boolean has(String name) {
        return !values.getOrDefault(name, "false").equals("false");
    }

    /** A constant of an enum, or {@code absent}. */
    public <E extends Enum<E>> E one(Class<E> type, String name, E absent) {
        return Optional.ofNullable(values.get(name))
                .map(text -> Enum.valueOf(type, text))
                .orElse(absent);
    }
}
