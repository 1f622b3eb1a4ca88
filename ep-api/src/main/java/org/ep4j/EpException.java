package org.ep4j;

import org.jspecify.annotations.Nullable;

/** Root of every failure that ep4j reports. Messages name what was wrong, the value, the limit and the fix. */
public class EpException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Recourse recourse;

    /** Action that the caller can take after a failure. Constants may be added: keep a {@code default} where you switch over them. */
    public enum Recourse {
        /** Correct the call, its arguments or the settings; or repeat a wait that was too short. */
        FIX_CALL,
        /** Call {@link EpBuffer#recover} on all ranks that still answer, then repeat what failed. */
        RECOVER,
        /** Close the group and join a new one, with a new bootstrap. A join that failed has closed its bootstrap. */
        REJOIN,
        /** End the process and start it again: its GPU, or a library that it uses, refuses all further work. */
        RESTART_PROCESS,
        /** Install or free what the message names, or raise its limit: the machine lacks it. */
        INSTALL
    }

    /** Creates the exception with a message; the recourse is {@link Recourse#FIX_CALL}. */
    public EpException(String message) {
        this(message, Recourse.FIX_CALL);
    }

    /**
     * Creates the exception with a message and a cause; the recourse is the cause's if the cause is an EpException,
     * else {@link Recourse#FIX_CALL}.
     */
    public EpException(String message, @Nullable Throwable cause) {
        this(message, cause instanceof EpException known ? known.recourse : Recourse.FIX_CALL, cause);
    }

    /** Creates the exception with a message and a recourse. A cause may be set later. */
    public EpException(String message, Recourse recourse) {
        super(message);
        this.recourse = recourse;
    }

    /** Creates the exception with a message, a recourse and a cause. */
    public EpException(String message, Recourse recourse, @Nullable Throwable cause) {
        super(message, cause);
        this.recourse = recourse;
    }

    /** Action that the caller can take after this failure. */
    public final Recourse recourse() {
        return recourse;
    }
}
