package org.ep4j.backend.host;

/** A call of the C library failed. Stays inside this package: callers get it as the cause of one that names the fix. */
final class NativeCallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Errno error;

    NativeCallException(String call, String target, Errno error) {
        super(call + " of " + target + " failed with " + error);
        this.error = error;
    }

    Errno error() {
        return error;
    }
}
