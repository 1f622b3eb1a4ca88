package org.ep4j.config;

/** A list or map of NICs that cannot be meant, with what is wrong about it and what to write. */
public final class NicListException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /** An exception that says what is wrong and what to write instead. */
    public NicListException(String message) {
        super(message);
    }
}
