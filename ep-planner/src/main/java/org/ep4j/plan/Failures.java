package org.ep4j.plan;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.RankProfile;

/** Pairs of ranks without a path, those with like reasons together. */
final class Failures {
    private static final int SHOWN = 8;

    private final Map<String, Failure> byReason = new LinkedHashMap<>();

    private record Failure(RankProfile from, RankProfile to, long pairs, String reasons) {
        Failure and(Failure other) {
            Failure first = Comparator.comparingInt(
                                            (Failure failure) -> failure.from().rank())
                                    .thenComparingInt(failure -> failure.to().rank())
                                    .compare(this, other)
                            <= 0
                    ? this
                    : other;
            return new Failure(first.from, first.to, pairs + other.pairs, first.reasons);
        }

        String text() {
            return from.label() + " -> " + to.label() + (pairs > 1 ? " and " + (pairs - 1) + " like it" : "") + ": "
                    + (reasons.isEmpty()
                            ? "no backend on the class path; add a backend such as org.ep4j:backend-host"
                            : reasons);
        }
    }

    /**
     * Adds pairs.
     *
     * @param from an example of the writing ranks
     * @param to an example of the others
     * @param pairs how many there are
     * @param rejected why each backend has no path
     */
    void add(RankProfile from, RankProfile to, long pairs, List<Rejection> rejected) {
        String reasons =
                rejected.stream().map(rejection -> rejection.describe(from, to)).collect(Collectors.joining("; "));
        String alike = reasons.replace(from.label(), "the writing rank").replace(to.label(), "its peer");
        byReason.merge(alike, new Failure(from, to, pairs, reasons), Failure::and);
    }

    /**
     * Does nothing when there are none.
     *
     * @throws EpUnavailableException naming them
     */
    void throwIfAny() {
        if (byReason.isEmpty()) {
            return;
        }
        long pairs = byReason.values().stream().mapToLong(Failure::pairs).sum();
        String shown =
                byReason.values().stream().limit(SHOWN).map(Failure::text).collect(Collectors.joining("\n  "));
        throw new EpUnavailableException(pairs + " pairs of ranks have no path"
                + (byReason.size() > SHOWN ? "; the first " + SHOWN + " kinds of such pairs" : "") + ":\n  " + shown
                + "\nadd a backend that connects them, or correct what the reasons name");
    }
}
