package org.ep4j.config;

import org.apiguardian.api.API;

/** Failure because a list or map of NICs is not valid; the message says what is wrong and what to write instead. */
@API(status = API.Status.INTERNAL, since = "0.1")
public final class NicListException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message that says what is wrong and what to write instead. */
    public NicListException(String message) {
        super(message);
    }
}
