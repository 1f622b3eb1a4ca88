package org.ep4j.topology.model;

import java.util.Optional;

/**
 * One entry of a port's table of global ids.
 *
 * @param index place in the table, what {@code sgid_index} names
 * @param address eight groups of four hex digits, as sysfs prints it: {@code fe80:0000:0000:0000:...}
 * @param type {@code IB/RoCE v1}, {@code RoCE v2}; empty when the source does not say
 * @param netdev network interface of the entry; empty when unknown
 * @param network what that interface reaches without a router, as {@link NicPort#network()}
 * @param foreign true when its address belongs to another network namespace: packets from it would carry the address of
 *     somebody else
 */
public record Gid(int index, String address, String type, String netdev, String network, boolean foreign) {
    /** The address of a free entry, as sysfs prints it. */
    private static final String FREE = "0000:0000:0000:0000:0000:0000:0000:0000";

    /** An entry of this process's network namespace, on an unknown network. */
    public Gid(int index, String address, String type, String netdev) {
        this(index, address, type, netdev, "", false);
    }

    /**
     * Writes an IPv6 or IPv4 address as {@link #address} has it; empty if the text is no address, or the address of a
     * free entry.
     */
    public static Optional<String> expand(String text) {
        // Tables have hundreds of entries, most of them free.
        return text.equals(FREE)
                ? Optional.empty()
                : GidAddress.parse(text).filter(address -> !address.empty()).map(GidAddress::full);
    }

    /** The IPv4 address that it stands for; empty if it stands for none. */
    public Optional<String> ipv4() {
        return GidAddress.parse(address).filter(GidAddress::ipv4Mapped).map(GidAddress::toString);
    }
}
