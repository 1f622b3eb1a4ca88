package org.ep4j.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.Decision.Rejection;
import org.ep4j.plan.PairKinds.Kind;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.Locality;

/**
 * Chooses a path for every pair of ranks, and the NICs of every rank. A pure function: the same profiles and options give
 * the same plan on every rank, also for machines that exist only as a description.
 */
public final class Planner {
    /** Backend name on the path of a rank to itself. */
    public static final String LOCAL = "local";

    private Planner() {}

    /**
     * A backend as the planner sees it.
     *
     * @param id its name
     * @param offer {@link org.ep4j.spi.EpBackendProvider#offer}
     */
    public record Candidate(String id, BiFunction<RankProfile, RankProfile, Offer> offer) {}

    /**
     * Computes a plan for {@link Objective#BALANCED}.
     *
     * @param profiles what the ranks reported, in rank order
     * @param candidates backends that are present; their order does not matter
     * @param choice what the user asked for
     * @throws EpUnavailableException when some pair has no path; the message names the pairs and every backend's reason
     */
    public static GroupPlan plan(List<RankProfile> profiles, List<Candidate> candidates, BackendChoice choice) {
        return plan(profiles, candidates, new PlanOptions(choice, NicChoice.AUTO, Objective.BALANCED));
    }

    /**
     * Computes a plan. Offers are asked for once for all pairs of ranks that differ only in names and identity.
     *
     * @param profiles what the ranks reported, in rank order
     * @param candidates backends that are present; their order does not matter
     * @param options what the user asked for; the same on all ranks
     * @throws EpUnavailableException when some pair has no path; the message names the pairs and every backend's reason
     * @throws org.ep4j.EpConfigException when a rank's choice of NICs does not fit its machine
     */
    public static GroupPlan plan(List<RankProfile> profiles, List<Candidate> candidates, PlanOptions options) {
        options.backends().checkNames(candidates.stream().map(Candidate::id).toList());
        GroupPlan.checkOrder(profiles);
        List<RankProfile> shared = share(profiles);
        List<NicChoice> choices = shared.stream()
                .map(profile -> NicChoice.of(profile, options.nics()))
                .toList();
        RankClasses classes = RankClasses.of(shared, choices);
        PairKinds kinds = PairKinds.of(classes);
        List<NicSelection> nics = select(shared, choices, classes);
        List<Decision> decisions = decide(shared, nics, kinds, new Chooser(candidates, options));
        return new GroupPlan(shared, options, kinds, decisions, NicPlan.of(shared, nics, kinds, decisions), false);
    }

    /** Makes equal parts of profiles one object: profiles are decoded one by one, and most of their parts are alike. */
    private static List<RankProfile> share(List<RankProfile> profiles) {
        Map<Locality, Locality> localities = new HashMap<>();
        Map<BackendProfile, BackendProfile> backends = new HashMap<>();
        List<RankProfile> shared = new ArrayList<>();
        for (RankProfile profile : profiles) {
            Map<String, BackendProfile> found = new TreeMap<>();
            profile.backends().forEach((id, backend) -> found.put(id, backends.computeIfAbsent(backend, same -> same)));
            shared.add(profile.toBuilder()
                    .locality(localities.computeIfAbsent(profile.locality(), same -> same))
                    .backends(found)
                    .build());
        }
        return shared;
    }

    private static List<NicSelection> select(List<RankProfile> profiles, List<NicChoice> choices, RankClasses classes) {
        Map<Integer, NicSelection> ofClass = new HashMap<>();
        return profiles.stream()
                .map(profile -> ofClass.computeIfAbsent(
                        classes.classOf(profile.rank()), k -> NicSelection.of(profile, choices.get(profile.rank()))))
                .toList();
    }

    private static List<Decision> decide(
            List<RankProfile> profiles, List<NicSelection> nics, PairKinds kinds, Chooser chooser) {
        List<Chooser.Offers> offers = new ArrayList<>();
        Failures failures = new Failures();
        Map<Integer, RankProfile> narrowed = new HashMap<>();
        for (Kind kind : kinds.kinds()) {
            RankProfile from = narrowed.computeIfAbsent(kind.from(), r -> narrow(profiles.get(r), nics.get(r)));
            RankProfile to = narrowed.computeIfAbsent(kind.to(), r -> narrow(profiles.get(r), nics.get(r)));
            Chooser.Offers all = chooser.offers(from, to, nics.get(kind.from()));
            offers.add(all);
            if (all.scored().isEmpty()) {
                failures.add(from, to, kind.pairs(), all.rejected());
            }
        }
        failures.throwIfAny();
        Map<Decision, Decision> once = new HashMap<>();
        return new JointChoice(profiles, kinds, chooser, offers)
                .decide().stream()
                        .map(made -> once.computeIfAbsent(made, same -> same))
                        .toList();
    }

    private static RankProfile narrow(RankProfile profile, NicSelection nics) {
        return profile.toBuilder().locality(nics.locality()).build();
    }

    /** Pairs of ranks without a path, those with like reasons together. */
    private static final class Failures {
        private static final int SHOWN = 8;

        private final Map<String, Failure> byReason = new LinkedHashMap<>();

        private record Failure(RankProfile from, RankProfile to, long pairs, String reasons) {
            static final Comparator<Failure> ORDER =
                    Comparator.comparingInt((Failure one) -> one.from.rank()).thenComparingInt(one -> one.to.rank());

            Failure and(Failure other) {
                Failure first = ORDER.compare(this, other) <= 0 ? this : other;
                return new Failure(first.from, first.to, pairs + other.pairs, first.reasons);
            }

            String text() {
                return from.label() + " -> " + to.label() + (pairs > 1 ? " and " + (pairs - 1) + " like it" : "") + ": "
                        + (reasons.isEmpty()
                                ? "no backend on the class path; add a backend such as org.ep4j:backend-host"
                                : reasons);
            }
        }

        /** Adds pairs, of which {@code from} and {@code to} are an example. */
        void add(RankProfile from, RankProfile to, long pairs, List<Rejection> rejected) {
            String reasons = rejected.stream()
                    .map(rejection -> rejection.describe(from, to))
                    .collect(Collectors.joining("; "));
            String alike = reasons.replace(from.label(), "the writing rank").replace(to.label(), "its peer");
            byReason.merge(alike, new Failure(from, to, pairs, reasons), Failure::and);
        }

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
}
