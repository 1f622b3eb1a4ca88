package org.ep4j.engine.bootstrap;

import java.util.List;
import java.util.stream.Collectors;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.transport.Deadline;

/**
 * Why a gather ended without a result.
 *
 * @param ranks group ranks that the failure names
 * @param text details
 */
record GatherFailure(Kind kind, List<Integer> ranks, String text) {
    /** Kinds of failures; their names are part of the protocol. */
    enum Kind {
        /** The ranks did not take part in time. */
        MISSING,
        /** The rank closed its bootstrap before it took part. */
        LEFT,
        /** The rank was lost before it took part. */
        LOST,
        /** The hub is gone, and rank 0 with it. */
        HUB_GONE,
        /** Members gave different arguments. */
        MISMATCH,
        /** This member used the bootstrap wrongly, for example after it was closed. */
        MISUSE
    }

    static GatherFailure of(Kind kind, String text) {
        return new GatherFailure(kind, List.of(), text);
    }

    /** Creates the exception for the caller; {@code deadline} is for the time that the call took. */
    EpException exception(Scope scope, String phase, Deadline deadline) {
        return switch (kind) {
            case MISSING -> missing(scope, phase, deadline);
            case LEFT -> gone(scope, phase, " has left and did not take part in ");
            case LOST -> gone(scope, phase, " is lost and did not take part in ");
            case HUB_GONE ->
                new EpPeerLostException(
                        phase + " cannot continue without rank 0, which relays the data of all members: " + text,
                        EpFailure.builder(phase, scope.place(0)).build(),
                        recourse(scope));
            case MISMATCH -> new EpMismatchException(phase + ": " + text + "; give the same arguments on all members");
            case MISUSE -> new EpStateException(phase + " refused: " + text);
        };
    }

    /** Without the hub no later gather succeeds either, and a rank that does not form the group has no buffer to recover. */
    private EpException.Recourse recourse(Scope scope) {
        return kind == Kind.HUB_GONE || scope.isSetup() ? EpException.Recourse.REJOIN : EpException.Recourse.RECOVER;
    }

    private EpException gone(Scope scope, String phase, String what) {
        int rank = ranks.get(0);
        String message = scope.name(rank) + what + phase + (text.isEmpty() ? "" : ": " + text);
        return new EpPeerLostException(
                message, EpFailure.builder(phase, scope.place(rank)).build(), recourse(scope));
    }

    private EpException missing(Scope scope, String phase, Deadline deadline) {
        String why = text.isEmpty() ? "" : "; " + text;
        String who = ranks.isEmpty()
                ? "rank 0 did not answer, so it is not known which of the " + scope.size() + " members are missing"
                : ranks.stream().map(scope::name).collect(Collectors.joining(", ")) + " did not take part (of "
                        + scope.size() + " members)";
        return new EpTimeoutException(
                phase + " is not complete after " + deadline.elapsed() + ": " + who + why + "; check the logs of "
                        + (ranks.isEmpty() ? "rank 0 and of the other members" : "these members")
                        + ", or allow a longer time"
                        + " (ep.setup-timeout, or the deadline of the call)",
                EpFailure.builder(phase, ranks.size() == 1 ? scope.place(ranks.get(0)) : -1)
                        .expected(scope.size())
                        .seen(scope.size() - (long) ranks.size())
                        .build(),
                recourse(scope));
    }
}
