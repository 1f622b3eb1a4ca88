package org.ep4j;

import org.jspecify.annotations.Nullable;

/** An object was used when it must not be: closed, stale, from another buffer, or with an operation still pending. */
public final class EpStateException extends EpException {
    private static final long serialVersionUID = 1L;

    /** A failure with its message. */
    public EpStateException(String message) {
        super(message);
    }

    /** A failure with its message and what caused it. */
    public EpStateException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
