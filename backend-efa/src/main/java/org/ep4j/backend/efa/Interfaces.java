package org.ep4j.backend.efa;

import java.util.List;
import java.util.Optional;
import org.ep4j.config.EpConfig;
import org.ep4j.config.InterfacePattern;
import org.ep4j.topology.NicFamilies;

/** Chooses the network interfaces of sockets. */
final class Interfaces {
    private Interfaces() {}

    /** Interfaces to use, in the order of {@code names}: the ones that {@link EfaKeys#INTERFACE} means, else one that suits. */
    static List<String> of(EpConfig config, List<String> names) {
        InterfacePattern pattern = InterfacePattern.parse(config.get(EfaKeys.INTERFACE));
        if (!pattern.isEmpty()) {
            return names.stream().filter(pattern::matches).toList();
        }
        Optional<String> real =
                names.stream().filter(name -> !NicFamilies.virtual(name)).findFirst();
        return real.or(() -> names.stream().filter(name -> !name.equals("lo")).findFirst())
                .or(() -> names.stream().findFirst())
                .map(List::of)
                .orElse(List.of());
    }
}
