package org.ep4j.backend.host;

import java.util.Locale;

/** Sizes for messages. */
final class Bytes {
    private Bytes() {}

    /** Exact, with a rounded size beside it where that is easier to read: {@code 67108864 bytes (64.0 MiB)}. */
    static String text(long bytes) {
        if (bytes < 1024) {
            return bytes + " bytes";
        }
        double value = bytes / 1024.0;
        int unit = 0;
        while (value >= 1024 && unit < 3) {
            value /= 1024;
            unit++;
        }
        return String.format(Locale.ROOT, "%d bytes (%.1f %siB)", bytes, value, "KMGT".charAt(unit));
    }
}
