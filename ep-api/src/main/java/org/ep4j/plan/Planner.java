package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.NoPath;
import org.ep4j.spi.Offer;
import org.ep4j.spi.PathOffer;

/**
 * Chooses a path for every pair of ranks. A pure function: the same profiles and choice give the same plan on every rank,
 * also for machines that exist only as a description.
 */
public final class Planner {
    /** Backend name on the path of a rank to itself. */
    public static final String LOCAL = "local";

    /** A rank's own memory: no estimate matters, and none is compared. */
    private static final PathOffer LOCAL_OFFER = new PathOffer(PathKind.LOCAL, 1000, 0.1, List.of());

    /** Message size at which paths are compared: one BF16 row of hidden 7168. */
    private static final double ROW_BYTES = 14336;

    private Planner() {}

    /**
     * A backend as the planner sees it.
     *
     * @param id its name
     * @param offer {@link org.ep4j.spi.EpBackendProvider#offer}
     */
    public record Candidate(String id, BiFunction<RankProfile, RankProfile, Offer> offer) {}

    private record Scored(String id, PathOffer offer, int preference, double micros) {}

    /**
     * Plans.
     *
     * @param profiles what the ranks reported, in rank order
     * @param candidates backends that are present; their order does not matter
     * @param choice what the user asked for
     * @throws EpUnavailableException when some pair has no path; the message names the pairs and every backend's reason
     */
    public static EpPlan plan(List<RankProfile> profiles, List<Candidate> candidates, BackendChoice choice) {
        choice.checkNames(candidates.stream().map(Candidate::id).toList());
        List<Candidate> sorted =
                candidates.stream().sorted(Comparator.comparing(Candidate::id)).toList();
        List<PairPath> paths = new ArrayList<>(profiles.size() * profiles.size());
        List<String> failures = new ArrayList<>();
        for (RankProfile from : profiles) {
            for (RankProfile to : profiles) {
                if (from.rank() == to.rank()) {
                    paths.add(new PairPath(from.rank(), to.rank(), LOCAL, LOCAL_OFFER, List.of()));
                    continue;
                }
                List<String> rejected = new ArrayList<>();
                Optional<PairPath> path = best(from, to, sorted, choice, rejected);
                path.ifPresent(paths::add);
                if (path.isEmpty()) {
                    failures.add(from.label() + " -> " + to.label() + ": "
                            + (rejected.isEmpty() ? "no backend on the class path" : String.join("; ", rejected)));
                }
            }
        }
        if (!failures.isEmpty()) {
            int shown = Math.min(failures.size(), 8);
            throw new EpUnavailableException(failures.size() + " pairs of ranks have no path"
                    + (shown < failures.size() ? ", the first " + shown : "") + ":\n  "
                    + String.join("\n  ", failures.subList(0, shown))
                    + "\nadd a backend that connects them, or correct what the reasons name");
        }
        return new EpPlan(profiles, paths);
    }

    private static Optional<PairPath> best(
            RankProfile from, RankProfile to, List<Candidate> candidates, BackendChoice choice, List<String> rejected) {
        List<Scored> scored = new ArrayList<>();
        for (Candidate candidate : candidates) {
            Optional<String> refused = choice.refuses(candidate.id());
            if (refused.isPresent()) {
                rejected.add(candidate.id() + ": " + refused.get());
                continue;
            }
            Optional<String> unusable = unusable(candidate.id(), from).or(() -> unusable(candidate.id(), to));
            if (unusable.isPresent()) {
                rejected.add(candidate.id() + ": " + unusable.get());
                continue;
            }
            Offer offer = candidate.offer().apply(from, to);
            if (offer instanceof PathOffer path) {
                scored.add(new Scored(candidate.id(), path, choice.preference(candidate.id()), micros(path)));
            } else if (offer instanceof NoPath none) {
                rejected.add(candidate.id() + ": " + none.reason()
                        + (none.remedy().isEmpty() ? "" : " (" + none.remedy() + ")"));
            }
        }
        scored.sort(Comparator.comparingInt(Scored::preference)
                .thenComparingDouble(Scored::micros)
                .thenComparing(Scored::id));
        if (scored.isEmpty()) {
            return Optional.empty();
        }
        Scored winner = scored.get(0);
        for (Scored other : scored.subList(1, scored.size())) {
            rejected.add(String.format(
                    java.util.Locale.ROOT,
                    "%s: %s, %.1f us a row against %.1f us",
                    other.id(),
                    other.preference() > winner.preference() ? "not preferred" : "slower",
                    other.micros(),
                    winner.micros()));
        }
        return Optional.of(new PairPath(from.rank(), to.rank(), winner.id(), winner.offer(), rejected));
    }

    private static Optional<String> unusable(String backend, RankProfile profile) {
        Optional<RankProfile.BackendProfile> found = profile.backend(backend);
        if (found.isEmpty()) {
            return Optional.of("not on the class path of " + profile.label());
        }
        return found.filter(b -> !b.usable()).map(b -> "not usable on " + profile.label() + ": " + b.why());
    }

    /** Time of one row, the cost that orders offers: latency for small messages, bandwidth for large ones. */
    private static double micros(PathOffer offer) {
        return offer.latencyMicros() + ROW_BYTES / (offer.gigabytesPerSecond() * 1e3);
    }
}
