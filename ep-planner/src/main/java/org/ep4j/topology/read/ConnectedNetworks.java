package org.ep4j.topology.read;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Networks that interfaces are connected to, by the main routing table of Linux, {@code /proc/net/route}. An interface has none
 * where a router takes its packets further, where it has several, and where so few addresses fit that all but one host of it
 * must be routers: the address of such an interface does not show what it reaches. Neither has one whose network
 * another table serves that has a route by way of a router, as policies by source address do.
 */
final class ConnectedNetworks {
    /** {@code RTF_UP} and {@code RTF_GATEWAY} of Linux {@code include/uapi/linux/route.h}. */
    private static final int UP = 1;

    private static final int GATEWAY = 2;

    /** Networks of up to 6 hosts join a host to its switch. */
    private static final int LONGEST_PREFIX = 28;

    /** Least number of columns: interface, destination, gateway, flags, three others, mask. */
    private static final int COLUMNS = 8;

    private final Map<String, Set<String>> networks;

    /** Interfaces behind which there are routers. */
    private final Set<String> routed;

    private ConnectedNetworks(Map<String, Set<String>> networks, Set<String> routed) {
        this.networks = networks;
        this.routed = routed;
    }

    static ConnectedNetworks read(FileTree files) {
        Map<String, Set<String>> networks = new HashMap<>();
        Set<String> routed = new HashSet<>();
        files.text("/proc/net/route").orElse("").lines().skip(1).forEach(line -> {
            List<String> columns = List.of(line.trim().split("\\s+"));
            if (columns.size() < COLUMNS) {
                return;
            }
            try {
                int flags = Integer.parseUnsignedInt(columns.get(3), 16);
                if ((flags & GATEWAY) != 0) {
                    routed.add(columns.get(0));
                } else if ((flags & UP) != 0) {
                    networks.computeIfAbsent(columns.get(0), k -> new HashSet<>())
                            .add(network(word(columns.get(1)), word(columns.get(7))));
                }
            } catch (NumberFormatException e) {
                // Not a table as Linux writes it: what it says of this interface is unknown.
                routed.add(columns.get(0));
            }
        });
        networks.keySet().removeAll(routed);
        routedByPolicy(files.text("/proc/net/fib_trie").orElse(""))
                .ifPresent(prefixes -> networks.entrySet().removeIf(entry -> {
                    boolean concerned =
                            prefixes.isEmpty() || entry.getValue().stream().anyMatch(prefixes::contains);
                    if (concerned) {
                        routed.add(entry.getKey());
                    }
                    return concerned;
                }));
        return new ConnectedNetworks(networks, routed);
    }

    /**
     * Networks that tables besides main and local serve which have a route beyond the link; empty in it where such a table names
     * none, and may serve all. Nothing where there is no such table.
     */
    private static Optional<Set<String>> routedByPolicy(String tables) {
        Map<String, Set<String>> links = new HashMap<>();
        Set<String> beyond = new HashSet<>();
        String table = "";
        String address = "";
        for (String line : tables.lines().toList()) {
            String text = line.strip();
            if (line.endsWith(":") && !line.startsWith(" ")) {
                table = line.startsWith("Id ") ? line : "";
            } else if (text.startsWith("|-- ")) {
                address = text.substring("|-- ".length());
            } else if (!table.isEmpty() && text.endsWith(" universe UNICAST")) {
                beyond.add(table);
            } else if (!table.isEmpty() && text.endsWith(" link UNICAST")) {
                links.computeIfAbsent(table, k -> new HashSet<>()).add(address + text.split(" ", 2)[0]);
            }
        }
        if (beyond.isEmpty()) {
            return Optional.empty();
        }
        boolean all = beyond.stream().anyMatch(name -> !links.containsKey(name));
        Set<String> found = new HashSet<>();
        beyond.forEach(name -> found.addAll(links.getOrDefault(name, Set.of())));
        return Optional.of(all ? Set.of() : found);
    }

    /** An address in host order. The table has it in the order of the network, as a word of this machine. */
    private static int word(String hex) {
        return Integer.reverseBytes(Integer.parseUnsignedInt(hex, 16));
    }

    private static String network(int address, int mask) {
        int prefix = Integer.bitCount(mask);
        return prefix > LONGEST_PREFIX
                ? ""
                : (address >>> 24) + "." + ((address >>> 16) & 0xff) + "." + ((address >>> 8) & 0xff) + "."
                        + (address & 0xff) + "/" + prefix;
    }

    /** Returns the network of an interface; empty when it has none, or several. */
    String of(String netdev) {
        Set<String> all = networks.getOrDefault(netdev, Set.of());
        return all.size() == 1 ? all.iterator().next() : "";
    }

    /** Returns true for an interface that the table names. */
    boolean names(String netdev) {
        return routed.contains(netdev) || networks.containsKey(netdev);
    }
}
