package org.ep4j;

/**
 * A wait ended at its timeout. With {@link EpException.Recourse#RECOVER} the buffer stays usable: {@link
 * EpBuffer#recover} aligns the ranks that still answer, then the operation can be called again. With {@link
 * EpException.Recourse#FIX_CALL} work of this process had not ended yet: repeat the {@link EpEvent#await}, or the call
 * if {@link EpFailure#phase()} is {@code queue}.
 */
public final class EpTimeoutException extends EpException {
    private static final long serialVersionUID = 1L;

    private final EpFailure failure;

    /**
     * Creates the exception for a wait that did not end in time; the recourse is {@link EpException.Recourse#RECOVER}.
     *
     * @param message the whole story, with path, host and remedy
     * @param failure the same as values
     */
    public EpTimeoutException(String message, EpFailure failure) {
        this(message, failure, Recourse.RECOVER);
    }

    /**
     * Creates the exception for a wait after which something else helps than to recover a buffer, for example a wait for
     * the ranks of a new group.
     *
     * @param message the whole story
     * @param failure the same as values
     */
    public EpTimeoutException(String message, EpFailure failure, Recourse recourse) {
        super(message, recourse);
        this.failure = failure;
    }

    /** Facts about the wait: what was waited for, and its progress. */
    public EpFailure failure() {
        return failure;
    }
}
