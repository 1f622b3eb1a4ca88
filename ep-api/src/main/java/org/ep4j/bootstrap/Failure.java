package org.ep4j.bootstrap;

import java.util.List;

/**
 * Why a gather ended without a result.
 *
 * @param kind what happened
 * @param ranks group ranks that it is about
 * @param text details
 */
record Failure(Kind kind, List<Integer> ranks, String text) {
    /** What happened; the names travel. */
    enum Kind {
        /** The ranks did not take part in time. */
        MISSING,
        /** The rank closed its bootstrap before it took part. */
        LEFT,
        /** The rank was lost before it took part. */
        LOST,
        /** The rank that carried the gather is lost. */
        HUB_GONE,
        /** This member itself is held lost by the others. */
        EXPELLED,
        /** Members gave different arguments. */
        MISMATCH,
        /** This member used the bootstrap wrongly, for example after it was closed. */
        MISUSE
    }

    Failure {
        ranks = List.copyOf(ranks);
    }

    static Failure of(Kind kind, String text) {
        return new Failure(kind, List.of(), text);
    }
}
