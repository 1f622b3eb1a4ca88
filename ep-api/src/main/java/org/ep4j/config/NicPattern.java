package org.ep4j.config;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apiguardian.api.API;

/**
 * A list of NICs as users write it: {@code mlx5_0,mlx5_1:1}. NCCL's marks before the list are understood: {@code =} demands
 * equal names, {@code ^} means every NIC but these, {@code ^=} both. Without {@code =} a name stands for all names that go
 * on where it ends, but never inside a number: {@code mlx5} means every {@code mlx5_N}, and {@code mlx5_1}, unlike with NCCL,
 * not {@code mlx5_10}. An empty list matches nothing.
 *
 * @param negated whether it means every NIC but these
 * @param exact whether names are whole names
 * @param items what it lists: names, or what names begin with; port 0 stands for all ports
 */
@API(status = API.Status.INTERNAL, since = "0.1")
public record NicPattern(boolean negated, boolean exact, List<PortName> items) {
    /** Copies the list. */
    public NicPattern {
        items = List.copyOf(items);
    }

    /**
     * Reads a list.
     *
     * @throws NicListException when it cannot be meant
     */
    public static NicPattern parse(String text) {
        MarkedList list = MarkedList.parse(text);
        List<PortName> items = new ArrayList<>();
        for (String part : list.names().split(",", -1)) {
            // NVSHMEM_HCA_LIST repeats the mark before each name.
            String name =
                    list.negated() && part.trim().startsWith("^") ? part.trim().substring(1) : part.trim();
            if (name.startsWith("^") || name.startsWith("=")) {
                throw new NicListException("\"" + part.trim()
                        + "\" begins with ^ or = inside the list; write ^ and = once, before the whole list");
            }
            if (!name.isEmpty()) {
                items.add(PortName.parse(name));
            }
        }
        if (items.isEmpty() && !text.isBlank()) {
            throw new NicListException("no NIC is named; write names such as mlx5_0,mlx5_1:1, or leave the list empty");
        }
        return new NicPattern(list.negated(), list.exact(), items);
    }

    /**
     * Reads a list of NICs not to use.
     *
     * @throws NicListException when it cannot be meant, also where it means all NICs but those that it names
     */
    public static NicPattern parseExcluded(String text) {
        NicPattern pattern = parse(text);
        if (pattern.negated()) {
            throw new NicListException("^ in an exclude list excludes all NICs but the listed ones; write the list in "
                    + EpKeys.NIC_INCLUDE.name() + " without ^");
        }
        return pattern;
    }

    /** Returns true for a list that names nothing. */
    public boolean isEmpty() {
        return items.isEmpty();
    }

    /** Returns true if this list selects {@code port}. */
    public boolean matches(PortName port) {
        return items.stream().anyMatch(item -> selects(item, port)) != negated;
    }

    /** Items that match none of {@code ports}. */
    public List<PortName> unknown(Collection<PortName> ports) {
        return items.stream()
                .filter(item -> ports.stream().noneMatch(port -> selects(item, port)))
                .toList();
    }

    private boolean selects(PortName item, PortName port) {
        boolean named = exact ? port.nic().equals(item.nic()) : begins(port.nic(), item.nic());
        return named && (item.port() == 0 || item.port() == port.port());
    }

    private static boolean begins(String nic, String name) {
        return nic.startsWith(name)
                && (nic.length() == name.length()
                        || !digit(name.charAt(name.length() - 1))
                        || !digit(nic.charAt(name.length())));
    }

    private static boolean digit(char c) {
        return c >= '0' && c <= '9';
    }
}
