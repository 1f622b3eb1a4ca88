package org.ep4j;

import org.jspecify.annotations.Nullable;

/** Root of every failure that ep4j reports. Messages name what was wrong, the value, the limit and the fix. */
public class EpException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message. */
    public EpException(String message) {
        super(message);
    }

    /** Creates the exception with a message and a cause. */
    public EpException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
