package org.ep4j.config;

import java.util.Arrays;
import java.util.List;
import org.apiguardian.api.API;

/**
 * A list of network interfaces as NCCL and UCCL write it: {@code eth,ib} for names with one of these prefixes,
 * {@code =eth0} for whole names, {@code ^docker} for all names without the prefix, {@code ^=docker0} for all names but
 * this one. An empty list leaves the choice open.
 *
 * @param negated whether it means every interface but these
 * @param exact whether names are whole names
 * @param names what it lists
 */
@API(status = API.Status.INTERNAL, since = "0.1")
public record InterfacePattern(boolean negated, boolean exact, List<String> names) {
    /** Copies the list. */
    public InterfacePattern {
        names = List.copyOf(names);
    }

    /**
     * Reads a list.
     *
     * @throws IllegalArgumentException when there is a mark and no name after it
     */
    public static InterfacePattern parse(String text) {
        MarkedList list = MarkedList.parse(text);
        List<String> names = Arrays.stream(list.names().split(","))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .toList();
        if (names.isEmpty() && !text.isBlank()) {
            throw new IllegalArgumentException("no interface is named");
        }
        return new InterfacePattern(list.negated(), list.exact(), names);
    }

    /**
     * Returns a copy of a key for texts that {@link #parse} reads. It is also read from variables of other software, where a
     * text that names nothing is ignored, not refused.
     */
    public static ConfigKey<String> key(ConfigKey<String> text, String... variables) {
        ConfigKey<String> key = text.checked("a list of network interfaces", InterfacePattern::parse);
        for (String variable : variables) {
            key = key.orVariable(variable, "^ or = without a name is ignored", InterfacePattern::ofVariable);
        }
        return key;
    }

    private static String ofVariable(String text) {
        try {
            parse(text);
            return text;
        } catch (IllegalArgumentException e) {
            return "";
        }
    }

    /** Returns true for a list that names nothing. */
    public boolean isEmpty() {
        return names.isEmpty();
    }

    /** Returns true if this list selects the interface {@code name}. */
    public boolean matches(String name) {
        return names.stream().anyMatch(item -> exact ? name.equals(item) : name.startsWith(item)) != negated;
    }
}
