package org.ep4j.topology.read;

import com.google.common.collect.SetMultimap;
import com.google.common.collect.TreeMultimap;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.topology.model.PciAddress;

/**
 * Network interfaces of one network namespace, and which of them are made of others: a bond of its members, a VLAN of its
 * parent. {@code /sys/class/net} has those of the namespace alone, while {@code /sys/class/infiniband} has the devices of all.
 */
final class NetworkInterfaces {
    private static final String FOLDER = "/sys/class/net/";
    private static final String LOWER = "lower_";

    /** Characters below the length at which files are cut ({@link FileTree#text}), less the white space at their ends. */
    private static final int LONGEST_TABLE = 1_000_000;

    private final SysFiles sys;
    private final ConnectedNetworks networks;
    private final Set<String> names;
    private final Set<String> ipv4Addresses;
    private final Set<String> ipv6Addresses;
    private final Map<String, String> vlans;
    private final SetMultimap<String, String> below = TreeMultimap.create();
    private final SetMultimap<String, String> above = TreeMultimap.create();

    NetworkInterfaces(SysFiles sys) {
        this.sys = sys;
        this.networks = ConnectedNetworks.read(sys.tree());
        this.names = new TreeSet<>(sys.tree().list(FOLDER));
        this.ipv4Addresses = ipv4Addresses(sys.text("/proc/net/fib_trie"));
        this.ipv6Addresses = ipv6Addresses(sys.text("/proc/net/if_inet6"));
        this.vlans = vlans();
        for (String name : names) {
            below.putAll(name, lower(name));
            // A member names its bond, too.
            sys.tree()
                    .link(FOLDER + name + "/master")
                    .map(SysFiles::last)
                    .filter(this::isBond)
                    .ifPresent(bond -> below.put(bond, name));
        }
        names.forEach(name -> madeOf(name).forEach(part -> above.put(part, name)));
    }

    private Set<String> lower(String name) {
        Set<String> found = new TreeSet<>();
        for (String entry : sys.tree().list(FOLDER + name)) {
            if (entry.startsWith(LOWER)) {
                found.add(entry.substring(LOWER.length()));
            }
        }
        found.addAll(List.of(sys.text(FOLDER + name + "/bonding/slaves").split("\\s+", -1)));
        found.add(vlans.getOrDefault(name, ""));
        int dot = name.lastIndexOf('.');
        if (found.stream().allMatch(String::isEmpty) && dot > 0 && !isPhysical(name)) {
            // Usual name of a VLAN, if nothing else shows its parent.
            found.add(name.substring(0, dot));
        }
        found.removeIf(other -> other.equals(name) || !names.contains(other));
        return found;
    }

    /** {@code /proc/net/vlan/config}: lines of {@code NAME | ID | PARENT}. */
    private Map<String, String> vlans() {
        Map<String, String> found = new HashMap<>();
        sys.text("/proc/net/vlan/config").lines().forEach(line -> {
            List<String> columns = List.of(line.split("\\|", -1));
            if (columns.size() == 3) {
                found.put(columns.get(0).strip(), columns.get(2).strip());
            }
        });
        return found;
    }

    /**
     * IPv4 addresses of this namespace, from {@code /proc/net/fib_trie}, where a line with an address stands above one that says
     * that it is local; none where that cannot be read.
     */
    private static Set<String> ipv4Addresses(String table) {
        Set<String> found = new HashSet<>();
        String address = "";
        // A table that was cut leaves some out.
        for (String line : (table.length() < LONGEST_TABLE ? table : "").lines().toList()) {
            String text = line.strip();
            if (text.startsWith("|-- ")) {
                address = text.substring("|-- ".length());
            } else if (text.equals("/32 host LOCAL")) {
                found.add(address);
            }
        }
        return found;
    }

    /** IPv6 addresses of this namespace as 32 digits, which lines of {@code /proc/net/if_inet6} begin with. */
    private static Set<String> ipv6Addresses(String table) {
        return (table.length() < LONGEST_TABLE ? table : "")
                .lines()
                .map(line -> line.split("\\s", 2)[0])
                .filter(word -> word.length() == 32)
                .collect(Collectors.toSet());
    }

    Set<String> names() {
        return names;
    }

    boolean isBond(String name) {
        return sys.tree().exists(FOLDER + name + "/bonding");
    }

    /** True for an interface with a device below it. */
    boolean isPhysical(String name) {
        return sys.tree().exists(FOLDER + name + "/device");
    }

    /** An interface with all that it is made of. */
    Set<String> madeOf(String name) {
        Set<String> found = new LinkedHashSet<>();
        Deque<String> left = new ArrayDeque<>(List.of(name));
        while (!left.isEmpty()) {
            String next = left.remove();
            if (found.add(next)) {
                left.addAll(below.get(next));
            }
        }
        return found;
    }

    /** Interfaces with a device below them that one is made of, itself among them. */
    List<String> members(String name) {
        return madeOf(name).stream().filter(this::isPhysical).sorted().toList();
    }

    /** An interface with all that are made of it. */
    Set<String> madeFrom(String name) {
        return above.containsKey(name) ? above.get(name) : Set.of(name);
    }

    /** True for an interface whose traffic another one with a device carries, as the virtual function of a VM's adapter. */
    boolean isCarriedByAnother(String name) {
        return sys.tree()
                .link(FOLDER + name + "/master")
                .map(SysFiles::last)
                .filter(master -> names.contains(master) && isPhysical(master))
                .isPresent();
    }

    /** VLANs of an interface. */
    List<String> vlansOf(String name) {
        return names.stream()
                .filter(other -> below.get(other).equals(Set.of(name)))
                .filter(this::isVlan)
                .toList();
    }

    private boolean isVlan(String name) {
        return vlans.containsKey(name)
                || name.indexOf('.') > 0
                || sys.text(FOLDER + name + "/uevent").lines().anyMatch("DEVTYPE=vlan"::equals);
    }

    /** The bond that carries an interface: itself, or what its VLANs are of; empty where there is none. */
    Optional<String> bondOf(String name) {
        return madeOf(name).stream().filter(this::isBond).findFirst();
    }

    /** Network that an interface reaches without a router; empty when unknown, and where routers lead further. */
    String network(String name) {
        return networks.of(name);
    }

    /** True where the main routing table names an interface. */
    boolean isRouted(String name) {
        return networks.names(name);
    }

    /** Megabits a second; 0 when unknown. */
    double megabits(String name) {
        return Math.max(0, sys.number(FOLDER + name + "/speed"));
    }

    /** Bytes of a frame's content; -1 when unknown. */
    int mtu(String name) {
        return name.isEmpty() ? -1 : sys.number(FOLDER + name + "/mtu");
    }

    /** True for an IPv4 address of another namespace; false where the addresses of this one cannot be read. */
    boolean isForeign(String ipv4) {
        return !ipv4Addresses.isEmpty() && !ipv4Addresses.contains(ipv4);
    }

    /** True for an IPv6 address of another namespace, written as 32 digits; false where those of this one cannot be read. */
    boolean isForeignIpv6(String digits) {
        return !ipv6Addresses.isEmpty() && !ipv6Addresses.contains(digits);
    }

    /**
     * Returns true if the interface of a device belongs to another namespace, as far as can be known.
     *
     * @param netdev its name; empty when it cannot be read
     * @param function the device's PCI function; empty where it has none
     */
    boolean isElsewhere(String netdev, PciTree pci, Optional<PciAddress> function) {
        if (names.isEmpty()) {
            return false;
        }
        if (!names.contains(netdev)) {
            return true;
        }
        // The name may stand for one thing in the other namespace and for another here.
        Set<Optional<PciAddress>> functions = members(netdev).stream()
                .map(member -> pci.place(FOLDER + member + "/device").flatMap(PciTree.Place::address))
                .collect(Collectors.toSet());
        return function.isPresent()
                && !functions.isEmpty()
                && !functions.contains(function)
                && !functions.contains(Optional.empty());
    }
}
