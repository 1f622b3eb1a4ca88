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

    /** Says what was wrong, the value, the limit and the fix. */
    public EpArgumentException(String name, Object value, String limit, String fix) {
        this(name, value, limit, fix, null);
    }

    /** As above, with a cause. */
    public EpArgumentException(String name, Object value, String limit, String fix, @Nullable Throwable cause) {
        super(name + " is " + value + ", must be " + limit + "; " + fix, cause);
        this.name = name;
        this.value = String.valueOf(value);
        this.limit = limit;
        this.fix = fix;
    }

    /** Which argument, for example {@code topkIds[3][1]}. */
    public String name() {
        return name;
    }

    /** What it was, as text. */
    public String value() {
        return value;
    }

    /** What it may be. */
    public String limit() {
        return limit;
    }

    /** What to do. */
    public String fix() {
        return fix;
    }
}
