package org.ep4j;

import org.jspecify.annotations.Nullable;

/** Root of every failure that ep4j reports. Messages name what was wrong, the value, the limit and the fix. */
public class EpException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** A failure with its message. */
    public EpException(String message) {
        super(message);
    }

    /** A failure with its message and what caused it. */
    public EpException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
