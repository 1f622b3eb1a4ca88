package org.ep4j;

import org.jspecify.annotations.Nullable;

/**
 * An argument was refused before anything was sent: the operation did not start on this rank, no state changed, and the
 * same call with a correct argument may follow.
 */
public final class EpArgumentException extends EpException {
    private static final long serialVersionUID = 1L;

    private final String name;
    private final String value;
    private final String limit;
    private final String fix;

    /** Creates the exception from the name of the argument, its value, the limit and the fix. */
    public EpArgumentException(String name, Object value, String limit, String fix) {
        this(name, value, limit, fix, null);
    }

    /** Creates the exception from name, value, limit and fix, with a cause. */
    public EpArgumentException(String name, Object value, String limit, String fix, @Nullable Throwable cause) {
        super(name + " is " + value + ", must be " + limit + "; " + fix, Recourse.FIX_CALL, cause);
        this.name = name;
        this.value = String.valueOf(value);
        this.limit = limit;
        this.fix = fix;
    }

    /** Name of the argument, for example {@code topkIds[3][1]}. */
    public String name() {
        return name;
    }

    /** The refused value, as text. */
    public String value() {
        return value;
    }

    /** The values that are allowed, as text. */
    public String limit() {
        return limit;
    }

    /** How to correct the argument. */
    public String fix() {
        return fix;
    }
}
