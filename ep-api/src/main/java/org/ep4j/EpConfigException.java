package org.ep4j;

import org.jspecify.annotations.Nullable;

/** A setting is unknown, malformed or contradicts another one. */
public final class EpConfigException extends EpException {
    private static final long serialVersionUID = 1L;

    /** A failure with its message. */
    public EpConfigException(String message) {
        super(message);
    }

    /** A failure with its message and what caused it. */
    public EpConfigException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
