package org.ep4j.bootstrap;

import java.util.List;
import java.util.stream.Collectors;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;

/** Words a failed gather for the caller. */
final class Failures {
    private Failures() {}

    /**
     * The exception for a failure.
     *
     * @param phase what the member was doing
     * @param deadline of the call, for the time that it took
     */
    static EpException exception(Failure failure, Scope scope, String phase, Deadline deadline) {
        return switch (failure.kind()) {
            case MISSING -> missing(failure, scope, phase, deadline);
            case LEFT -> gone(failure, scope, phase, " has left and did not take part in ");
            case LOST -> gone(failure, scope, phase, " is lost and did not take part in ");
            case HUB_GONE ->
                new EpPeerLostException(
                        phase + " cannot continue without rank 0, which relays the data of all members: "
                                + failure.text(),
                        scope.place(0),
                        phase);
            case MISMATCH ->
                new EpMismatchException(phase + ": " + failure.text() + "; give the same arguments on all members");
            case MISUSE -> new EpStateException(phase + " refused: " + failure.text());
        };
    }

    private static EpException gone(Failure failure, Scope scope, String phase, String what) {
        int rank = failure.ranks().get(0);
        String message = scope.name(rank) + what + phase + (failure.text().isEmpty() ? "" : ": " + failure.text());
        return new EpPeerLostException(message, scope.place(rank), phase);
    }

    private static EpException missing(Failure failure, Scope scope, String phase, Deadline deadline) {
        List<Integer> ranks = failure.ranks();
        String why = failure.text().isEmpty() ? "" : "; " + failure.text();
        String who = ranks.isEmpty()
                ? "rank 0 did not answer, so it is not known which of the " + scope.size() + " members are missing"
                : ranks.stream().map(scope::name).collect(Collectors.joining(", ")) + " did not take part (of "
                        + scope.size() + " members)";
        return new EpTimeoutException(
                phase + " is not complete after " + deadline.elapsed() + ": " + who + why + "; check the logs of "
                        + (ranks.isEmpty() ? "rank 0 and of the other members" : "these members")
                        + ", or allow a longer time"
                        + " (ep.setup-timeout, or the deadline of the call)",
                phase,
                ranks.size() == 1 ? scope.place(ranks.get(0)) : -1,
                scope.size(),
                scope.size() - (long) ranks.size());
    }
}
