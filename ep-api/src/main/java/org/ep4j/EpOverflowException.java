package org.ep4j;

import org.jspecify.annotations.Nullable;

/**
 * Failure of an operation that would deliver more tokens to a rank than its buffer holds; every rank reports it, before
 * any row has moved. Also thrown if more rows have arrived than a tensor that the caller gave for them holds; then this rank alone
 * reports it, after the exchange.
 */
public final class EpOverflowException extends EpException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception with a message. */
    public EpOverflowException(String message) {
        super(message);
    }

    /** Creates the exception with a message and a cause. */
    public EpOverflowException(String message, @Nullable Throwable cause) {
        super(message, Recourse.FIX_CALL, cause);
    }
}
