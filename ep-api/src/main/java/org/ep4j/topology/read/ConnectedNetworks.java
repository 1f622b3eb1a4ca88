package org.ep4j.topology.read;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Networks that interfaces are connected to, by the main routing table of Linux, {@code /proc/net/route}. An interface has none
 * where a router takes its packets further, where it has several, and where so few addresses fit that all but one host of it
 * must be routers: what such an interface reaches is not told by its address.
 */
final class ConnectedNetworks {
    static final ConnectedNetworks NONE = new ConnectedNetworks(Map.of());

    /** {@code RTF_UP} and {@code RTF_GATEWAY} of Linux {@code include/uapi/linux/route.h}. */
    private static final int UP = 1;

    private static final int GATEWAY = 2;

    /** Networks of up to 6 hosts join a host to its switch. */
    private static final int LONGEST_PREFIX = 28;

    /** Columns: interface, destination, gateway, flags, four others, mask. */
    private static final int COLUMNS = 8;

    private final Map<String, Set<String>> networks;

    private ConnectedNetworks(Map<String, Set<String>> networks) {
        this.networks = networks;
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
        return new ConnectedNetworks(networks);
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

    /** Of an interface; empty when there is none that tells what it reaches. */
    String of(String netdev) {
        Set<String> all = networks.getOrDefault(netdev, Set.of());
        return all.size() == 1 ? all.iterator().next() : "";
    }
}
