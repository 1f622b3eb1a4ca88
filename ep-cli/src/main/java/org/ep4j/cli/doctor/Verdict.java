package org.ep4j.cli.doctor;

/** Result of an examination. */
public enum Verdict {
    /** A GPU can be used, and nothing is amiss. */
    USABLE("usable"),
    /** A recording, of which nothing could be probed, in which nothing is amiss. */
    CLEAN("no problems found"),
    /** It can be used, or is a recording, but a check warns. */
    WARNINGS("usable with warnings"),
    /** A check failed. */
    PROBLEMS("problems found"),
    /** The host device alone can be used, and nothing is amiss. */
    HOST_ONLY("only the host device is usable"),
    /** Not even the host device can be used. */
    NOTHING("nothing can be used");

    private final String text;

    Verdict(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
