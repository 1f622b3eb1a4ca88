package org.ep4j.cli.doctor;

/** What an examination comes to. */
public enum Verdict {
    /** A device besides the host can be used, and nothing is amiss. */
    USABLE("usable"),
    /** A recording, of which nothing could be probed, in which nothing is amiss. */
    CLEAN("nothing amiss"),
    /** It can be used, or is a recording, but a check warns. */
    WARNINGS("usable with warnings"),
    /** A check failed. */
    PROBLEMS("problems found"),
    /** Nothing can be used but the host device, if that. */
    HOST_ONLY("nothing can be used but the host device");

    private final String text;

    Verdict(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
