package org.ep4j;

import org.jspecify.annotations.Nullable;

/**
 * More rows would arrive at a rank than its buffer holds: every rank reports it, before any row moved; {@link
 * OverflowPolicy#DROP} drops them instead. Or more rows arrived
 * than the caller's own output holds: that rank alone reports it, after the exchange.
 */
public final class EpOverflowException extends EpException {
    private static final long serialVersionUID = 1L;

    /** A failure with its message. */
    public EpOverflowException(String message) {
        super(message);
    }

    /** A failure with its message and what caused it. */
    public EpOverflowException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
