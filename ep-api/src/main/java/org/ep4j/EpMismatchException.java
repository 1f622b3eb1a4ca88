package org.ep4j;

import org.jspecify.annotations.Nullable;

/** Ranks disagree on something that must be equal on all of them: shape, configuration, or which operation comes next. */
public final class EpMismatchException extends EpException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message. */
    public EpMismatchException(String message) {
        super(message);
    }

    /** Creates the exception with a message and a cause. */
    public EpMismatchException(String message, @Nullable Throwable cause) {
        super(message, Recourse.FIX_CALL, cause);
    }
}
