package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.ep4j.EpPath;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Decision.Rejection;
import org.ep4j.plan.Decision.Rejection.Cause;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;

/**
 * Orders the offers for a pair of ranks: preferred ones first, then unstaged ones, then by cost, then by id. In a plan that
 * is not to be hybrid all offers of posted paths come before those of mapped memory.
 */
final class Chooser {
    private final List<Planner.Candidate> candidates;
    private final BackendChoice choice;
    private final Objective objective;
    private final boolean hybrid;
    /** Texts by times; they repeat often. */
    private final Map<List<Double>, String> times = new HashMap<>();

    Chooser(List<Planner.Candidate> candidates, PlanOptions options) {
        this.candidates = candidates.stream()
                .sorted(Comparator.comparing(Planner.Candidate::id))
                .toList();
        this.choice = options.backends();
        this.objective = options.objective();
        this.hybrid = options.hybrid();
    }

    /** An offer with the values by which it is compared; a lower {@code preference} goes first. */
    record Scored(String id, Offer offer, int preference, double micros) {}

    /** Offers for a kind of pairs, the best first, and the backends without one. */
    record Offers(List<Scored> scored, List<Rejection> rejected) {}

    /** Asks all backends for an offer from the ports {@code nics} of the writing rank. */
    Offers offers(RankProfile from, RankProfile to, NicSelection nics) {
        List<Scored> scored = new ArrayList<>();
        List<Rejection> rejected = new ArrayList<>();
        for (Planner.Candidate candidate : candidates) {
            String id = candidate.id();
            Optional<Rejection> refused = refused(id, from, to);
            if (refused.isPresent()) {
                rejected.add(refused.get());
                continue;
            }
            Offer offer = nics.narrow(candidate.offer().apply(from, to));
            if (offer.isPath()) {
                impossible(offer.kind(), from, to)
                        .ifPresentOrElse(
                                why -> rejected.add(new Rejection(id, Cause.TEXT, why)),
                                () -> scored.add(
                                        new Scored(id, offer, choice.preference(id), objective.micros(offer))));
            } else {
                String remedy = offer.remedy().isEmpty() ? "" : " (" + offer.remedy() + ")";
                rejected.add(new Rejection(id, Cause.TEXT, offer.reason() + remedy));
            }
        }
        scored.sort(Comparator.comparing(this::comesLast)
                .thenComparingInt(Scored::preference)
                .thenComparing(score -> score.offer().staged())
                .thenComparingDouble(Scored::micros)
                .thenComparing(Scored::id));
        return new Offers(scored, rejected);
    }

    /** Returns why the engine cannot use a path between these devices. */
    private static Optional<String> impossible(EpPath.Kind kind, RankProfile from, RankProfile to) {
        boolean writes = from.device().isGpu();
        if (kind != EpPath.Kind.MAPPED && writes != to.device().isGpu()) {
            return Optional.of(
                    "one of the two ranks uses a GPU and the other the host, and only mapped memory connects them");
        }
        return kind == EpPath.Kind.DEVICE_POSTED && !writes
                ? Optional.of("ranks on the host have no GPU that could post")
                : Optional.empty();
    }

    /** Takes an offer; {@code ruledOut} gives the reasons at better ones. */
    Decision take(Offers offers, Scored winner, Function<Scored, String> ruledOut) {
        List<Rejection> rejected = new ArrayList<>(offers.rejected());
        boolean better = true;
        for (Scored other : offers.scored()) {
            if (other.equals(winner)) {
                better = false;
            } else {
                String why = better ? ruledOut.apply(other) : beaten(other, winner);
                rejected.add(new Rejection(other.id(), Cause.TEXT, why));
            }
        }
        return new Decision(winner.id(), winner.offer(), rejected);
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

    /** Returns true for an offer that is taken only where there is no other. */
    boolean comesLast(Scored score) {
        return !hybrid && score.offer().kind() == EpPath.Kind.MAPPED;
    }

    private String beaten(Scored other, Scored winner) {
        if (comesLast(other) && !comesLast(winner)) {
            return "maps memory; with " + EpKeys.HYBRID.name() + "=false, mapped paths are chosen last";
        }
        String why = other.preference() > winner.preference()
                ? "not preferred"
                : other.offer().staged() && !winner.offer().staged()
                        ? "staged through host memory (staged paths are chosen last)"
                        : other.micros() > winner.micros() ? "slower" : "no faster";
        return why + ", " + times(other.micros(), winner.micros());
    }

    /** Two times of the message, compared. */
    private String times(double one, double other) {
        return times.computeIfAbsent(
                List.of(one, other),
                k -> String.format(Locale.ROOT, "%.1f us %s against %.1f us", one, objective.unit(), other));
    }
}
