package org.ep4j.plan;

import org.ep4j.spi.RankProfile;

/**
 * Why a backend was not taken for a kind of pairs. {@link #describe} names the rank that could not use it, for one
 * pair.
 *
 * @param backend its id
 * @param cause what kind of reason it is
 * @param text the reason; empty where the cause says it
 */
record Rejection(String backend, Cause cause, String text) {
    /** Kinds of reason. */
    enum Cause {
        /** The text says it. */
        TEXT,
        /** The writing rank does not have the backend. */
        ABSENT_FROM,
        /** The peer does not have the backend. */
        ABSENT_TO,
        /** The writing rank's probe failed. */
        UNUSABLE_FROM,
        /** The peer's probe failed. */
        UNUSABLE_TO
    }

    /** For people, as {@code id: reason}. */
    String describe(RankProfile from, RankProfile to) {
        return backend + ": "
                + switch (cause) {
                    case TEXT -> text;
                    case ABSENT_FROM -> "not on the class path of " + from.label();
                    case ABSENT_TO -> "not on the class path of " + to.label();
                    case UNUSABLE_FROM -> unusable(from);
                    case UNUSABLE_TO -> unusable(to);
                };
    }

    private String unusable(RankProfile profile) {
        String why =
                profile.backend(backend).map(RankProfile.BackendProfile::why).orElse("");
        return "not usable on " + profile.label() + ": " + why;
    }
}
