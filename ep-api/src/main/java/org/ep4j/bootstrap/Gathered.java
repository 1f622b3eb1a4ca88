package org.ep4j.bootstrap;

import java.util.List;

/**
 * The result of a gather on its way to the members of its scope. Its frames are made once for all of them.
 */
final class Gathered {
    private final String scope;
    private final String tag;
    private final List<byte[]> parts;
    private List<Frame> frames = List.of();

    /**
     * A result.
     *
     * @param parts one array a member of the scope, in its order; receivers do not change the arrays
     */
    Gathered(String scope, String tag, List<byte[]> parts) {
        this.scope = scope;
        this.tag = tag;
        this.parts = List.copyOf(parts);
    }

    String scope() {
        return scope;
    }

    String tag() {
        return tag;
    }

    List<byte[]> parts() {
        return parts;
    }

    /** What goes over a connection. */
    synchronized List<Frame> frames() {
        if (frames.isEmpty()) {
            frames = List.copyOf(Wire.result(scope, tag, parts));
        }
        return frames;
    }
}
