package org.ep4j;

import org.jspecify.annotations.Nullable;

/** No usable backend, device or bootstrap was found, or a required one refused; the message carries every reason and remedy. */
public final class EpUnavailableException extends EpException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message. */
    public EpUnavailableException(String message) {
        super(message, Recourse.INSTALL);
    }

    /** Creates the exception with a message, where something else helps than {@link EpException.Recourse#INSTALL}. */
    public EpUnavailableException(String message, Recourse recourse) {
        super(message, recourse);
    }

    /** Creates the exception with a message and a cause. */
    public EpUnavailableException(String message, @Nullable Throwable cause) {
        super(message, Recourse.INSTALL, cause);
    }
}
