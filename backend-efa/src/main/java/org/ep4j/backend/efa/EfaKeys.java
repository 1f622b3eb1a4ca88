package org.ep4j.backend.efa;

import java.util.List;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.InterfacePattern;

/**
 * The settings of the backend. Variables of UCCL that mean the same are read too. Which NICs, the traffic class and limits of
 * what is in flight: {@code ep.nic.*}.
 */
final class EfaKeys {
    /** What {@link #PROVIDER} is by default. */
    static final String AUTO = "auto";

    static final ConfigKey<String> PROVIDER = ConfigKey.text(
                    "ep.efa.provider",
                    AUTO,
                    "libfabric provider, as fi_info names it: efa, efa-direct, cxi, verbs, tcp, shm or another one;"
                            + " auto uses the first of efa, efa-direct, cxi and tcp that both ranks have")
            .agreedByAllRanks();

    static final ConfigKey<String> INTERFACE = InterfacePattern.key(
            ConfigKey.text(
                    "ep.efa.interface",
                    "",
                    "network interfaces of the tcp provider: name prefixes, separated by commas; a leading = requires"
                            + " exact names, a leading ^ excludes the named interfaces; if empty, ep4j uses one interface,"
                            + " preferably neither the loopback interface nor an interface of containers"),
            "UCCL_SOCKET_IFNAME");

    private EfaKeys() {}

    static List<ConfigKey<?>> all() {
        return List.of(PROVIDER, INTERFACE);
    }
}
