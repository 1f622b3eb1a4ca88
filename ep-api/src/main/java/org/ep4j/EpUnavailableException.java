package org.ep4j;

import org.jspecify.annotations.Nullable;

/** No usable backend, device or bootstrap was found, or a required one refused; the message carries every reason and remedy. */
public final class EpUnavailableException extends EpException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message. */
    public EpUnavailableException(String message) {
        super(message);
    }

    /** Creates the exception with a message and a cause. */
    public EpUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
