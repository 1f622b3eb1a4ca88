package org.ep4j.config;

import java.util.Arrays;

/**
 * Names of network interfaces, as NCCL and UCCL write them: {@code eth,ib} for beginnings of names, {@code =eth0} for whole names,
 * {@code ^lo,docker} for all but those.
 *
 * @param text the setting; empty matches nothing
 */
public record InterfacePattern(String text) {
    /** Whether an interface of this name is meant. */
    public boolean matches(String name) {
        String stripped = text.strip();
        if (stripped.isEmpty()) {
            return false;
        }
        boolean not = stripped.startsWith("^");
        String rest = not ? stripped.substring(1) : stripped;
        boolean exact = rest.startsWith("=");
        boolean found = Arrays.stream((exact ? rest.substring(1) : rest).split(","))
                .map(String::strip)
                .filter(part -> !part.isEmpty())
                .anyMatch(part -> exact ? name.equals(part) : name.startsWith(part));
        return found != not;
    }
}
