package org.ep4j.bootstrap;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.EpConfigException;
import org.ep4j.config.EpKeys;
import org.ep4j.config.InterfacePattern;

/** Addresses of this machine that the others reach, from the interface that the user wants. */
final class OwnAddress {
    private OwnAddress() {}

    /**
     * The address at which the others are to reach this rank.
     *
     * @param interfaces the setting
     * @param like an address of this machine by which it is reached; one of the same family is taken where there is one, and IPv4
     *     before IPv6 where this is no certain address
     * @return empty where the setting is
     * @throws EpConfigException when no interface that is up matches
     */
    static Optional<InetAddress> wanted(String interfaces, InetAddress like) {
        List<InetAddress> all = wanted(interfaces);
        return all.stream()
                .filter(one -> !like.isAnyLocalAddress() && one.getClass() == like.getClass())
                .findFirst()
                .or(() -> all.stream().findFirst());
    }

    /** Addresses of the first interface that matches; none where the setting is empty. */
    static List<InetAddress> wanted(String interfaces) {
        if (interfaces.isBlank()) {
            return List.of();
        }
        InterfacePattern pattern = new InterfacePattern(interfaces);
        List<String> seen = new ArrayList<>();
        try {
            for (NetworkInterface network : NetworkInterface.networkInterfaces()
                    .sorted(Comparator.comparing(NetworkInterface::getIndex))
                    .toList()) {
                List<InetAddress> addresses = addresses(network);
                if (!network.isUp() || addresses.isEmpty()) {
                    continue;
                }
                seen.add(network.getName());
                if (pattern.matches(network.getName())) {
                    return addresses;
                }
            }
        } catch (SocketException e) {
            throw new EpConfigException(
                    EpKeys.BOOTSTRAP_INTERFACE.name() + " is \"" + interfaces
                            + "\", and the interfaces of this machine cannot be read (" + e.getMessage()
                            + "); unset it",
                    e);
        }
        throw new EpConfigException(EpKeys.BOOTSTRAP_INTERFACE.name() + " is \"" + interfaces
                + "\", which matches no network interface that is up and has an address; there are "
                + seen.stream().collect(Collectors.joining(", ")) + "; set it, or "
                + String.join(", ", EpKeys.BOOTSTRAP_INTERFACE.variables()) + ", to one of them");
    }

    /** Without those that mean something on one link alone. */
    private static List<InetAddress> addresses(NetworkInterface network) {
        return network.inetAddresses()
                .filter(address -> !address.isLinkLocalAddress())
                .sorted(Comparator.comparing(Inet6Address.class::isInstance))
                .toList();
    }
}
