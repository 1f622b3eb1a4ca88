package org.ep4j;

/**
 * Failure because a rank died or left the group while other ranks still needed it. With {@link
 * EpException.Recourse#RECOVER}, {@link EpBuffer#recover} masks it and aligns the survivors, which then go on; otherwise
 * follow {@link #recourse()}. If {@link EpFailure#peer} is this rank itself, the others go on without it.
 */
public final class EpPeerLostException extends EpException {
    private static final long serialVersionUID = 1L;

    private final EpFailure failure;

    /**
     * Creates the exception for a lost rank; the recourse is {@link EpException.Recourse#RECOVER}.
     *
     * @param message the whole story, with host, path, phase and both counter values
     * @param failure the same as values; its peer is the lost rank
     */
    public EpPeerLostException(String message, EpFailure failure) {
        this(message, failure, Recourse.RECOVER);
    }

    /**
     * Creates the exception for a loss that recovery does not help against, for example of this rank itself.
     *
     * @param message the whole story
     * @param failure the same as values
     */
    public EpPeerLostException(String message, EpFailure failure, Recourse recourse) {
        super(message, recourse);
        this.failure = failure;
    }

    /** Facts about the loss: the lost rank, and the activity of this rank. */
    public EpFailure failure() {
        return failure;
    }
}
