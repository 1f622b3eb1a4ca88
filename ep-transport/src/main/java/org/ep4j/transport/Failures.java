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

    /** The same loss with other values or another recourse. */
    public static EpPeerLostException with(EpPeerLostException e, EpFailure failure, Recourse recourse) {
        if (failure.equals(e.failure()) && recourse == e.recourse()) {
            return e;
        }
        EpPeerLostException same = new EpPeerLostException(String.valueOf(e.getMessage()), failure, recourse);
        same.initCause(e);
        return same;
    }

    /** The same timeout with other values or another recourse. */
    public static EpTimeoutException with(EpTimeoutException e, EpFailure failure, Recourse recourse) {
        if (failure.equals(e.failure()) && recourse == e.recourse()) {
            return e;
        }
        EpTimeoutException same = new EpTimeoutException(String.valueOf(e.getMessage()), failure, recourse);
        same.initCause(e);
        return same;
    }

    /**
     * The same failure of a call that no recovery of a buffer helps, since it needs all ranks.
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
