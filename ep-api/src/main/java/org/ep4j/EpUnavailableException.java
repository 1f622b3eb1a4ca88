package org.ep4j;

import org.jspecify.annotations.Nullable;

/** No usable backend, device or bootstrap was found, or a required one refused; the message carries every reason and remedy. */
public final class EpUnavailableException extends EpException {
    private static final long serialVersionUID = 1L;

    /** A failure with its message. */
    public EpUnavailableException(String message) {
        super(message);
    }

    /** A failure with its message and what caused it. */
    public EpUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
