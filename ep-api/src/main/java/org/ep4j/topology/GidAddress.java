package org.ep4j.topology;

import java.util.Arrays;
import java.util.Optional;

/** The 16 bytes of a global id. */
final class GidAddress {
    private static final int GROUPS = 8;

    private final int[] groups;

    private GidAddress(int[] groups) {
        this.groups = groups;
    }

    /** Reads eight groups of hex digits; empty when the text is something else. */
    static Optional<GidAddress> parse(String text) {
        String[] parts = text.strip().split(":", -1);
        if (parts.length != GROUPS) {
            return Optional.empty();
        }
        int[] groups = new int[GROUPS];
        for (int i = 0; i < GROUPS; i++) {
            if (!parts[i].matches("[0-9a-fA-F]{1,4}")) {
                return Optional.empty();
            }
            groups[i] = Integer.parseInt(parts[i], 16);
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

    @Override
    public String toString() {
        if (ipv4Mapped()) {
            return (groups[6] >> 8) + "." + (groups[6] & 0xff) + "." + (groups[7] >> 8) + "." + (groups[7] & 0xff);
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < GROUPS; i++) {
            text.append(i == 0 ? "" : ":").append(Integer.toHexString(groups[i]));
        }
        return text.toString();
    }
}
