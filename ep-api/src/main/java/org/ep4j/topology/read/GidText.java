package org.ep4j.topology.read;

import com.google.common.net.InetAddresses;
import java.util.Locale;
import java.util.Optional;

/** Global ids as text. */
final class GidText {
    private static final int BYTES = 16;

    /** A free entry, as sysfs prints it. */
    private static final String NONE = "0000:0000:0000:0000:0000:0000:0000:0000";

    private GidText() {}

    /** As sysfs prints them, eight groups of four digits; empty when the text is no GID, or one that is all zero. */
    static Optional<String> expand(String text) {
        if (text.equals(NONE)) {
            // Tables have hundreds of entries, and most are free.
            return Optional.empty();
        }
        // A zone is no part of a GID, and to resolve it would ask for interfaces of this machine.
        if (text.indexOf('%') >= 0 || !InetAddresses.isInetAddress(text)) {
            return Optional.empty();
        }
        byte[] address = InetAddresses.forString(text).getAddress();
        byte[] gid = new byte[BYTES];
        System.arraycopy(address, 0, gid, BYTES - address.length, address.length);
        if (address.length < BYTES) {
            // Java makes an IPv4 address of the mapped form.
            gid[10] = (byte) 0xff;
            gid[11] = (byte) 0xff;
        }
        StringBuilder groups = new StringBuilder();
        int any = 0;
        for (int i = 0; i < BYTES; i += 2) {
            groups.append(i == 0 ? "" : ":")
                    .append(String.format(Locale.ROOT, "%02x%02x", gid[i] & 0xff, gid[i + 1] & 0xff));
            any |= gid[i] | gid[i + 1];
        }
        return any == 0 ? Optional.empty() : Optional.of(groups.toString());
    }

    /** The IPv4 address of a GID that {@link #expand} gave; empty when it stands for none. */
    static Optional<String> ipv4(String gid) {
        String mapped = "0000:0000:0000:0000:0000:ffff:";
        if (!gid.startsWith(mapped)) {
            return Optional.empty();
        }
        int word = Integer.parseUnsignedInt(gid.substring(mapped.length()).replace(":", ""), 16);
        return Optional.of(
                (word >>> 24) + "." + ((word >>> 16) & 0xff) + "." + ((word >>> 8) & 0xff) + "." + (word & 0xff));
    }
}
