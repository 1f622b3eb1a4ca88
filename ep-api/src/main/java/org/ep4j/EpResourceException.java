package org.ep4j;

import org.jspecify.annotations.Nullable;

/** The machine has too little of something: shared memory, address space, file handles, locked memory. */
public final class EpResourceException extends EpException {
    private static final long serialVersionUID = 1L;

    /** A failure with its message. */
    public EpResourceException(String message) {
        super(message);
    }

    /** A failure with its message and what caused it. */
    public EpResourceException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
