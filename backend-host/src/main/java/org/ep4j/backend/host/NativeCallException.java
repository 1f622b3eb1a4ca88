package org.ep4j.backend.host;

/** A call of the C library failed. Stays inside this package: callers get it as the cause of one that names the fix. */
final class NativeCallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String call;
    private final transient Errno error;

    NativeCallException(String call, String target, Errno error) {
        super(call + " of " + target + " failed with " + error);
        this.call = call;
        this.error = error;
    }

    /** The name of the function in C. */
    String call() {
        return call;
    }

    Errno error() {
        return error;
    }
}
