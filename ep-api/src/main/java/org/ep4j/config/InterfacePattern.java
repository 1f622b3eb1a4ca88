package org.ep4j.config;

import java.util.Arrays;
import java.util.List;

/**
 * A list of network interfaces as NCCL and UCCL write it: {@code eth,ib} for names that begin so, {@code =eth0} for whole
 * names, {@code ^docker} for all interfaces but those, {@code ^=docker0} for both. An empty list leaves the choice open.
 *
 * @param negated whether it means every interface but these
 * @param exact whether names are whole names
 * @param names what it lists
 */
public record InterfacePattern(boolean negated, boolean exact, List<String> names) {
    /** What a list looks like, for messages. */
    public static final String FORMAT = "a list of network interfaces";

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

    /** How variables of other software are read, which must not stop a job: a mark without a name names nothing. */
    public static ConfigKey.Reading ofVariables() {
        return new ConfigKey.Reading("a mark without a name is ignored", text -> {
            try {
                parse(text);
                return text;
            } catch (IllegalArgumentException e) {
                return "";
            }
        });
    }

    /** True for a list that names nothing. */
    public boolean isEmpty() {
        return names.isEmpty();
    }

    /** True for an interface that the list means. */
    public boolean matches(String name) {
        return names.stream().anyMatch(item -> exact ? name.equals(item) : name.startsWith(item)) != negated;
    }
}
