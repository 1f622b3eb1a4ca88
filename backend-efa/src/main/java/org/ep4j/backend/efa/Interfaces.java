package org.ep4j.backend.efa;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.ep4j.topology.NicFamilies;

/**
 * Which network interfaces sockets use, as NCCL and UCCL write it: {@code eth,ib} for beginnings of names, {@code =eth0} for
 * names, {@code ^lo,docker} for all but those.
 *
 * @param text the setting; empty for one that suits
 */
record Interfaces(String text) {
    /** Those of {@code names} that are used, in their order. */
    List<String> of(List<String> names) {
        if (!text.isEmpty()) {
            return names.stream().filter(this::matches).toList();
        }
        Optional<String> real =
                names.stream().filter(name -> !NicFamilies.virtual(name)).findFirst();
        return real.or(() -> names.stream().filter(name -> !name.equals("lo")).findFirst())
                .or(() -> names.stream().findFirst())
                .map(List::of)
                .orElse(List.of());
    }

    private boolean matches(String name) {
        boolean not = text.startsWith("^");
        String rest = not ? text.substring(1) : text;
        boolean exact = rest.startsWith("=");
        List<String> parts = Arrays.asList((exact ? rest.substring(1) : rest).split(","));
        boolean found = parts.stream()
                .map(String::strip)
                .filter(part -> !part.isEmpty())
                .anyMatch(part -> exact ? name.equals(part) : name.startsWith(part));
        return found != not;
    }
}
