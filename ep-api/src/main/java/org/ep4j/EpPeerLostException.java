package org.ep4j;

/**
 * Failure because a rank died or left the group while other ranks still needed it. {@link EpBuffer#recover} masks it
 * and aligns the survivors, which then go on.
 */
public final class EpPeerLostException extends EpException {
    private static final long serialVersionUID = 1L;

    private final int peer;
    private final String phase;

    /**
     * Creates the exception for a lost rank.
     *
     * @param message the whole story, with host, path, phase and both counter values
     * @param peer the lost rank
     * @param phase what this rank was doing
     */
    public EpPeerLostException(String message, int peer, String phase) {
        super(message);
        this.peer = peer;
        this.phase = phase;
    }

    /** The lost rank. */
    public int peer() {
        return peer;
    }

    /** What this rank was doing, for example {@code dispatch rows}. */
    public String phase() {
        return phase;
    }
}
