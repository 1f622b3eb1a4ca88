package org.ep4j.tck.crew;

/** Ends the thread of a rank that asked for its death. An Error, so that no scenario catches it. */
final class RankKilled extends Error {
    private static final long serialVersionUID = 1L;

    RankKilled() {
        super("rank killed", null, false, false);
    }
}
