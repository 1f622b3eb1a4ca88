package org.ep4j.plan;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.EpConfigException;

/**
 * A list of NICs as users write it: {@code mlx5_0,mlx5_1:1}. NCCL's marks before the list are understood: {@code =} demands
 * equal names, {@code ^} means every NIC but these, {@code ^=} both. Without {@code =} a name stands for all names that go
 * on where it ends, but never inside a number: {@code mlx5} means every {@code mlx5_N}, and {@code mlx5_1}, unlike with NCCL,
 * not {@code mlx5_10}. An empty list matches nothing.
 */
record NicPattern(boolean negated, boolean exact, List<Item> items) {
    /**
     * One NIC or port.
     *
     * @param port 0 for all ports
     */
    record Item(String name, int port) {
        private boolean matches(PortName other, boolean exact) {
            boolean named = exact ? other.nic().equals(name) : begins(other.nic());
            return named && (port == 0 || port == other.port());
        }

        private boolean begins(String nic) {
            return nic.startsWith(name)
                    && (nic.length() == name.length()
                            || !digit(name.charAt(name.length() - 1))
                            || !digit(nic.charAt(name.length())));
        }

        private static boolean digit(char c) {
            return c >= '0' && c <= '9';
        }
    }

    NicPattern {
        items = List.copyOf(items);
    }

    /**
     * Reads a list.
     *
     * @param setting its name, for messages
     */
    static NicPattern parse(String setting, String text) {
        String rest = text.trim();
        boolean negated = rest.startsWith("^");
        rest = negated ? rest.substring(1) : rest;
        boolean exact = rest.startsWith("=");
        rest = exact ? rest.substring(1) : rest;
        List<Item> items = new ArrayList<>();
        for (String part : rest.split(",", -1)) {
            // NVSHMEM_HCA_LIST repeats the mark before each name.
            String name = negated && part.trim().startsWith("^") ? part.trim().substring(1) : part.trim();
            if (name.startsWith("^") || name.startsWith("=")) {
                throw new EpConfigException(setting + " is \"" + text + "\", in which \"" + part.trim()
                        + "\" has a mark of its own; write ^ and = once, before the whole list");
            }
            if (!name.isEmpty()) {
                PortName port = PortName.parse(name);
                items.add(new Item(port.nic(), port.port()));
            }
        }
        if (items.isEmpty() && !text.isBlank()) {
            throw new EpConfigException(setting + " is \"" + text
                    + "\", which names no NIC; write names such as mlx5_0,mlx5_1:1, or leave it empty");
        }
        return new NicPattern(negated, exact, items);
    }

    boolean isEmpty() {
        return items.isEmpty();
    }

    /** True for a port that the list means. */
    boolean matches(PortName port) {
        return items.stream().anyMatch(item -> item.matches(port, exact)) != negated;
    }
}
