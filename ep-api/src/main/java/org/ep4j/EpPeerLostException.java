package org.ep4j;

import org.apiguardian.api.API;

/**
 * Failure because a rank died or left the group while other ranks still needed it. With {@link
 * EpException.Recourse#RECOVER}, {@link EpBuffer#recover} masks it and aligns the survivors, which then go on; otherwise
 * follow {@link #recourse()}. If {@link EpFailure#peer} is this rank itself, the others go on without it.
 */
@API(status = API.Status.STABLE, since = "0.1")
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

    /** Which rank is lost, and what this rank was doing. */
    public EpFailure failure() {
        return failure;
    }
}
