package org.ep4j.tck.ranks;

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
    /** Parses {@code name=value name=value flag}; a name alone means {@code true}. */
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

    /** Returns a copy with one more value, or another one. */
    public Params with(String name, Object value) {
        Map<String, String> changed = new TreeMap<>(values);
        changed.put(name, value.toString());
        return new Params(changed);
    }

    /** Returns a value, or {@code absent}. */
    public String text(String name, String absent) {
        return values.getOrDefault(name, absent);
    }

    /** Returns a number, or {@code absent}. */
    public int number(String name, int absent) {
        return Integer.parseInt(values.getOrDefault(name, Integer.toString(absent)));
    }

    /** Returns a number that may exceed an {@code int}, or {@code absent}. */
    public long longNumber(String name, long absent) {
        return Long.parseLong(values.getOrDefault(name, Long.toString(absent)));
    }

    /** Returns the numbers of a list separated by commas; empty where it is absent. */
    public List<Integer> numbers(String name) {
        return Stream.of(text(name, "").split(",", -1))
                .filter(part -> !part.isEmpty())
                .map(Integer::valueOf)
                .toList();
    }

    /** Returns a fraction, or {@code absent}. */
    public double fraction(String name, double absent) {
        return Double.parseDouble(values.getOrDefault(name, Double.toString(absent)));
    }

    /** Returns whether a value is present and not {@code false}. */
    public boolean has(String name) {
        return !values.getOrDefault(name, "false").equals("false");
    }

    /** Returns a constant of an enum, or {@code absent}. */
    public <E extends Enum<E>> E one(Class<E> type, String name, E absent) {
        return Optional.ofNullable(values.get(name))
                .map(text -> Enum.valueOf(type, text))
                .orElse(absent);
    }
}
