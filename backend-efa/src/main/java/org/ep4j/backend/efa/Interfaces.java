package org.ep4j.backend.efa;

import java.util.List;
import java.util.Optional;
import org.ep4j.config.InterfacePattern;
import org.ep4j.topology.VirtualInterfaces;

/**
 * Network interfaces that sockets use.
 *
 * @param text the setting, an {@link InterfacePattern}; empty for one that suits
 */
record Interfaces(String text) {
    /** Those of {@code names} that are used, in their order. */
    List<String> of(List<String> names) {
        if (!text.isEmpty()) {
            return names.stream().filter(new InterfacePattern(text)::matches).toList();
        }
        Optional<String> real = names.stream()
                .filter(name -> !name.equals("lo") && !VirtualInterfaces.matches(name))
                .findFirst();
        return real.or(() -> names.stream().filter(name -> !name.equals("lo")).findFirst())
                .or(() -> names.stream().findFirst())
                .map(List::of)
                .orElse(List.of());
    }
}
