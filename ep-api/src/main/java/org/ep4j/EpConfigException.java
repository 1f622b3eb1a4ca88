package org.ep4j;

import org.jspecify.annotations.Nullable;

/** A setting is unknown, malformed or contradicts another one. */
public final class EpConfigException extends EpException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message. */
    public EpConfigException(String message) {
        super(message);
    }

    /** Creates the exception with a message and a cause. */
    public EpConfigException(String message, @Nullable Throwable cause) {
        super(message, Recourse.FIX_CALL, cause);
    }
}
