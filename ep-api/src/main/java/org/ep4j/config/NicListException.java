package org.ep4j.config;

/** Failure because a list or map of NICs is not valid; the message says what is wrong and what to write instead. */
public final class NicListException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message that says what is wrong and what to write instead. */
    public NicListException(String message) {
        super(message);
    }
}
