package org.ep4j.examples.llm;

/** A model that cannot be run here; the message names the file, what is wrong with it, and what would be accepted. */
final class ModelException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ModelException(String message) {
        super(message);
    }

    ModelException(String message, Throwable cause) {
        super(message, cause);
    }
}
