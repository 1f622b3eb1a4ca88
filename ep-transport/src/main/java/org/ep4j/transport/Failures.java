package org.ep4j.transport;

import java.util.function.UnaryOperator;
import org.ep4j.EpException;
import org.ep4j.EpException.Recourse;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;

/** Exceptions with the message of another one, which is their cause, for callers that know more about the failure. */
public final class Failures {
    private Failures() {}

    /** Returns the same loss with other values or another recourse. */
    public static EpPeerLostException with(EpPeerLostException e, EpFailure failure, Recourse recourse) {
        return failure.equals(e.failure()) && recourse == e.recourse()
                ? e
                : caused(new EpPeerLostException(String.valueOf(e.getMessage()), failure, recourse), e);
    }

    /** Returns the same timeout with other values or another recourse. */
    public static EpTimeoutException with(EpTimeoutException e, EpFailure failure, Recourse recourse) {
        return failure.equals(e.failure()) && recourse == e.recourse()
                ? e
                : caused(new EpTimeoutException(String.valueOf(e.getMessage()), failure, recourse), e);
    }

    private static <E extends EpException> E caused(E failure, EpException cause) {
        failure.initCause(cause);
        return failure;
    }

    /**
     * Returns the same failure for a call that needs all ranks, so that no recovery of a buffer helps.
     *
     * @param known adds what is known of the peer
     */
    public static EpException rejoin(EpException e, UnaryOperator<EpFailure> known) {
        Recourse recourse = e.recourse() == Recourse.RECOVER ? Recourse.REJOIN : e.recourse();
        if (e instanceof EpPeerLostException lost) {
            return with(lost, known.apply(lost.failure()), recourse);
        }
        return e instanceof EpTimeoutException late ? with(late, known.apply(late.failure()), recourse) : e;
    }
}
