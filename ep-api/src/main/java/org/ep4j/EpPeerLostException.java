package org.ep4j;

/**
 * A rank of the group died or left while others still needed it. {@link EpBuffer#recover} masks it and aligns the
 * survivors, which then go on.
 */
public final class EpPeerLostException extends EpPathException {
    private static final long serialVersionUID = 1L;

    private final int peer;
    private final String phase;

    /**
     * A lost rank.
     *
     * @param message the whole story, with host, path, phase and both counter values
     * @param peer the lost rank
     * @param phase what this rank was doing
     */
    public EpPeerLostException(String message, int peer, String phase) {
        this(message, peer, phase, FailedPath.UNKNOWN);
    }

    /**
     * A rank that was lost on a path.
     *
     * @param message the whole story, with host, path, phase and both counter values
     * @param peer the lost rank
     * @param phase what this rank was doing
     * @param failed the path to it
     */
    public EpPeerLostException(String message, int peer, String phase, FailedPath failed) {
        super(message, failed);
        this.peer = peer;
        this.phase = phase;
    }

    /** The lost rank. */
    public int peer() {
        return peer;
    }

    /** What this rank was doing, for example {@code dispatch counts}. */
    public String phase() {
        return phase;
    }
}
