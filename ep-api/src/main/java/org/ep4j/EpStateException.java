package org.ep4j;

import org.jspecify.annotations.Nullable;

/**
 * An object was used in a state that does not allow it: closed, stale, from another buffer, or with an operation still
 * pending.
 */
public final class EpStateException extends EpException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message. */
    public EpStateException(String message) {
        super(message);
    }

    /** Creates the exception with a message, where something else helps than {@link EpException.Recourse#FIX_CALL}. */
    public EpStateException(String message, Recourse recourse) {
        super(message, recourse);
    }

    /** Creates the exception with a message and a cause. */
    public EpStateException(String message, @Nullable Throwable cause) {
        super(message, Recourse.FIX_CALL, cause);
    }
}
