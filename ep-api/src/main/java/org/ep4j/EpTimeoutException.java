package org.ep4j;

/**
 * A wait passed its deadline. The buffer stays usable: {@link EpBuffer#recover} aligns the ranks that still answer; then
 * the operation can be called again.
 */
public final class EpTimeoutException extends EpException {
    private static final long serialVersionUID = 1L;

    private final String phase;
    private final int peer;
    private final long expected;
    private final long seen;

    /**
     * Creates the exception for a wait whose counter did not reach its value in time.
     *
     * @param message the whole story, with path, host and remedy
     * @param phase what was waited for
     * @param peer rank that did not answer, or -1 when it is not one rank
     * @param expected counter value waited for
     * @param seen counter value at the deadline
     */
    public EpTimeoutException(String message, String phase, int peer, long expected, long seen) {
        super(message);
        this.phase = phase;
        this.peer = peer;
        this.expected = expected;
        this.seen = seen;
    }

    /** What was waited for, for example {@code dispatch rows}. */
    public String phase() {
        return phase;
    }

    /** Rank that did not answer, or -1 if the wait was not for one rank. */
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
