package org.ep4j.bootstrap;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The result of a gather, which all members get: encoded once for all of them that are reached over TCP. Guarded by the hub. */
final class GatherResult {
    private final String scope;
    private final String tag;
    private final List<byte[]> parts;
    private @Nullable List<Frame> frames;

    /**
     * The result of a gather.
     *
     * @param scope key of the scope
     * @param parts in the order of the scope's members; the arrays are shared by all receivers
     */
    GatherResult(String scope, String tag, List<byte[]> parts) {
        this.scope = scope;
        this.tag = tag;
        this.parts = parts;
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

    /** The frames that carry it. */
    List<Frame> frames() {
        List<Frame> made = frames;
        if (made == null) {
            made = Wire.result(scope, tag, parts);
            frames = made;
        }
        return made;
    }
}
