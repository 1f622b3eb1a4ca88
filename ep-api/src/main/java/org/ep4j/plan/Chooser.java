package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Rejection.Cause;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;

/**
 * Picks the best offer for a pair of ranks: preferred ones first, then those that the wanted side posts, then unstaged ones, then
 * by cost, then by id. In a plan that
 * is not to be hybrid all offers of posted paths come before those of mapped memory.
 */
final class Chooser {
    private final List<Planner.Candidate> candidates;
    private final BackendChoice choice;
    private final Objective objective;
    private final boolean hybrid;
    private final Posting posting;

    Chooser(List<Planner.Candidate> candidates, PlanOptions options) {
        this.candidates = candidates.stream()
                .sorted(Comparator.comparing(Planner.Candidate::id))
                .toList();
        this.choice = options.backends();
        this.objective = options.objective();
        this.hybrid = options.hybrid();
        this.posting = options.posting();
    }

    private record Scored(String id, PathOffer offer, int preference, double micros) {}

    /**
     * Decides.
     *
     * @param nics what the writing rank may use
     * @param rejected receives the backends that were not taken
     * @return empty when no backend has a path
     */
    Optional<Decision> choose(RankProfile from, RankProfile to, NicRules nics, List<Rejection> rejected) {
        List<Scored> scored = new ArrayList<>();
        for (Planner.Candidate candidate : candidates) {
            String id = candidate.id();
            Optional<Rejection> refused = refused(id, from, to);
            if (refused.isPresent()) {
                rejected.add(refused.get());
                continue;
            }
            Offer offer = nics.narrow(candidate.offer().apply(from, to));
            if (offer instanceof PathOffer path) {
                scored.add(new Scored(id, path, choice.preference(id), objective.micros(path)));
            } else if (offer instanceof NoPath none) {
                String remedy = none.remedy().isEmpty() ? "" : " (" + none.remedy() + ")";
                rejected.add(new Rejection(id, Cause.TEXT, none.reason() + remedy));
            }
        }
        scored.sort(Comparator.comparing(this::comesLast)
                .thenComparingInt(Scored::preference)
                .thenComparing(score -> posting.comesLast(score.offer().kind()))
                .thenComparing(score -> score.offer().staged())
                .thenComparingDouble(Scored::micros)
                .thenComparing(Scored::id));
        if (scored.isEmpty()) {
            return Optional.empty();
        }
        Scored winner = scored.get(0);
        scored.subList(1, scored.size())
                .forEach(other -> rejected.add(new Rejection(other.id(), Cause.TEXT, beaten(other, winner))));
        return Optional.of(new Decision(winner.id(), winner.offer(), rejected));
    }

    private Optional<Rejection> refused(String id, RankProfile from, RankProfile to) {
        Optional<String> unwanted = choice.refuses(id);
        if (unwanted.isPresent()) {
            return Optional.of(new Rejection(id, Cause.TEXT, unwanted.get()));
        }
        return unusable(id, from, Cause.ABSENT_FROM, Cause.UNUSABLE_FROM)
                .or(() -> unusable(id, to, Cause.ABSENT_TO, Cause.UNUSABLE_TO))
                .map(cause -> new Rejection(id, cause, ""));
    }

    private static Optional<Cause> unusable(String id, RankProfile profile, Cause absent, Cause unusable) {
        return profile.backend(id)
                .map(found -> found.usable() ? Optional.<Cause>empty() : Optional.of(unusable))
                .orElse(Optional.of(absent));
    }

    private boolean comesLast(Scored score) {
        return !hybrid && score.offer().kind() == PathKind.MAPPED;
    }

    private String beaten(Scored other, Scored winner) {
        if (comesLast(other) && !comesLast(winner)) {
            return "maps memory, which is taken last with " + EpKeys.HYBRID.name() + "=false";
        }
        String why = other.preference() > winner.preference()
                ? "not preferred"
                : posting.comesLast(other.offer().kind())
                                && !posting.comesLast(winner.offer().kind())
                        ? "posted by the " + (posting == Posting.DEVICE ? "host" : "device")
                                + ", which is taken last with " + EpKeys.POSTING.name() + "="
                                + posting.name().toLowerCase(Locale.ROOT)
                        : other.offer().staged() && !winner.offer().staged()
                                ? "staged through host memory, which is taken last"
                                : other.micros() > winner.micros() ? "slower" : "no faster";
        return String.format(
                Locale.ROOT, "%s, %.1f us %s against %.1f us", why, other.micros(), objective.unit(), winner.micros());
    }
}
