package org.ep4j;

/**
 * A wait passed its deadline. The buffer stays usable: {@link EpBuffer#recover} aligns the ranks that still answer; then
 * the operation can be called again.
 */
public final class EpTimeoutException extends EpPathException {
    private static final long serialVersionUID = 1L;

    private final String phase;
    private final int peer;
    private final long expected;
    private final long seen;

    /**
     * A wait that ended without its counter.
     *
     * @param message the whole story, with path, host and remedy
     * @param phase what was waited for
     * @param peer rank that did not answer, or -1 when it is not one rank
     * @param expected counter value waited for
     * @param seen counter value at the deadline
     */
    public EpTimeoutException(String message, String phase, int peer, long expected, long seen) {
        this(message, phase, peer, expected, seen, FailedPath.UNKNOWN);
    }

    /**
     * A wait for a rank on a path that ended without its counter.
     *
     * @param message the whole story, with path, host and remedy
     * @param phase what was waited for
     * @param peer rank that did not answer
     * @param expected counter value waited for
     * @param seen counter value at the deadline
     * @param failed the path to it
     */
    public EpTimeoutException(String message, String phase, int peer, long expected, long seen, FailedPath failed) {
        super(message, failed);
        this.phase = phase;
        this.peer = peer;
        this.expected = expected;
        this.seen = seen;
    }

    /** What was waited for, for example {@code dispatch rows}. */
    public String phase() {
        return phase;
    }

    /** Rank that did not answer, or -1. */
    public int peer() {
        return peer;
    }

    /** Counter value waited for. */
    public long expected() {
        return expected;
    }

    /** Counter value at the deadline. */
    public long seen() {
        return seen;
    }
}
