package org.ep4j;

import org.jspecify.annotations.Nullable;

/** Ranks disagree on something that must be equal on all of them: shape, configuration, or which operation comes next. */
public final class EpMismatchException extends EpException {
    private static final long serialVersionUID = 1L;

    /** A failure with its message. */
    public EpMismatchException(String message) {
        super(message);
    }

    /** A failure with its message and what caused it. */
    public EpMismatchException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
