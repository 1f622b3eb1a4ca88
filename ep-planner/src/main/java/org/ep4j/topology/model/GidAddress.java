package org.ep4j.topology.model;

import com.google.common.net.InetAddresses;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** The 16 bytes of a global id. */
final class GidAddress {
    private static final int GROUPS = 8;

    private final int[] groups;

    private GidAddress(int[] groups) {
        this.groups = groups;
    }

    /** Reads an IPv6 or IPv4 address; empty when the text is something else. */
    static Optional<GidAddress> parse(String text) {
        String plain = text.strip();
        // A zone is no part of a GID, and to resolve it would ask for interfaces of this machine.
        if (plain.indexOf('%') >= 0 || !InetAddresses.isInetAddress(plain)) {
            return Optional.empty();
        }
        byte[] address = InetAddresses.forString(plain).getAddress();
        int[] groups = new int[GROUPS];
        int first = GROUPS - address.length / 2;
        if (first > 0) {
            // Java makes an IPv4 address of the mapped form.
            groups[first - 1] = 0xffff;
        }
        for (int i = 0; i < address.length; i++) {
            groups[first + i / 2] = (groups[first + i / 2] << 8) | (address[i] & 0xff);
        }
        return Optional.of(new GidAddress(groups));
    }

    boolean empty() {
        return Arrays.stream(groups).allMatch(group -> group == 0);
    }

    /** {@code fe80::/10}. */
    boolean linkLocal() {
        return (groups[0] & 0xffc0) == 0xfe80;
    }

    /** {@code ::ffff:a.b.c.d}. */
    boolean ipv4Mapped() {
        return Arrays.stream(groups, 0, 5).allMatch(group -> group == 0) && groups[5] == 0xffff;
    }

    /** True for an InfiniBand id with a routable local id: bytes 4 and 5 are not zero. */
    boolean routableLid() {
        return groups[2] != 0;
    }

    /** Eight groups of four digits, as sysfs prints them. */
    String full() {
        return Arrays.stream(groups)
                .mapToObj(group -> String.format(Locale.ROOT, "%04x", group))
                .collect(Collectors.joining(":"));
    }

    /** Short, with four numbers for an IPv4 address. */
    @Override
    public String toString() {
        if (ipv4Mapped()) {
            return (groups[6] >> 8) + "." + (groups[6] & 0xff) + "." + (groups[7] >> 8) + "." + (groups[7] & 0xff);
        }
        return Arrays.stream(groups).mapToObj(Integer::toHexString).collect(Collectors.joining(":"));
    }
}
