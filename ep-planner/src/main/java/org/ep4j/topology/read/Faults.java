package org.ep4j.topology.read;

import org.ep4j.topology.model.TopologyException;

/** Messages about sources that cannot be understood. */
final class Faults {
    private static final int SHOWN = 80;

    private Faults() {}

    static TopologyException at(String source, int line, String reason) {
        return new TopologyException(source + ", line " + line + ": " + reason);
    }

    static TopologyException in(String source, String reason) {
        return new TopologyException(source + ": " + reason);
    }

    /** Quotes a piece of the source for a message: short, and printable. */
    static String quote(String text) {
        String plain = text.strip().replaceAll("[^\\x20-\\x7e]", "?");
        return "\"" + (plain.length() > SHOWN ? plain.substring(0, SHOWN) + "..." : plain) + "\"";
    }
}
