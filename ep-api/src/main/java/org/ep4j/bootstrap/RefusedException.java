package org.ep4j.bootstrap;

/** The other side of a handshake must not come in; the message is what it is told. */
final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    RefusedException(String message) {
        super(message);
    }
}
