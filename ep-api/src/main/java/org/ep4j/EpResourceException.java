package org.ep4j;

import org.jspecify.annotations.Nullable;

/** Failure because the machine lacks a resource: shared memory, address space, file handles or locked memory. */
public final class EpResourceException extends EpException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message. */
    public EpResourceException(String message) {
        super(message, Recourse.INSTALL);
    }

    /** Creates the exception with a message, where something else helps than {@link EpException.Recourse#INSTALL}. */
    public EpResourceException(String message, Recourse recourse) {
        super(message, recourse);
    }

    /** Creates the exception with a message and a cause. */
    public EpResourceException(String message, @Nullable Throwable cause) {
        super(message, Recourse.INSTALL, cause);
    }
}
