package org.ep4j.plan;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.ep4j.EpUnavailableException;
import org.ep4j.plan.PairKinds.Kind;
import org.ep4j.spi.Offer;

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
    public static EpPlan plan(List<RankProfile> profiles, List<Candidate> candidates, BackendChoice choice) {
        return plan(profiles, candidates, new PlanOptions(choice, NicChoice.AUTO, Objective.BALANCED));
    }

    /**
     * Computes a plan. Offers are asked for once for all pairs of ranks that differ only in names and identity.
     *
     * @param profiles what the ranks reported, in rank order
     * @param candidates backends that are present; their order does not matter
     * @param options what the user asked for; the same on all ranks
     * @throws EpUnavailableException when some pair has no path; the message names the pairs and every backend's reason
     * @throws org.ep4j.EpConfigException when a rank's wishes for NICs do not fit its machine
     */
    public static EpPlan plan(List<RankProfile> profiles, List<Candidate> candidates, PlanOptions options) {
        options.backends().checkNames(candidates.stream().map(Candidate::id).toList());
        GivenPlan.checkOrder(profiles);
        List<RankProfile> shared = new ProfilePool().share(profiles);
        List<NicChoice> choices = choices(shared, options);
        RankClasses classes = RankClasses.of(shared, choices);
        PairKinds kinds = PairKinds.of(classes);
        List<NicRules> rules = rules(shared, choices, classes);
        List<Decision> decisions = decide(shared, rules, kinds, new Chooser(candidates, options));
        return new EpPlan(shared, options, kinds, decisions, NicPlan.of(shared, rules, kinds, decisions), false);
    }

    /** What holds for the NICs of each rank. */
    static List<NicChoice> choices(List<RankProfile> profiles, PlanOptions options) {
        return profiles.stream()
                .map(profile -> NicChoice.of(profile, options.nics()))
                .toList();
    }

    private static List<NicRules> rules(List<RankProfile> profiles, List<NicChoice> choices, RankClasses classes) {
        Map<Integer, NicRules> ofClass = new HashMap<>();
        List<NicRules> rules = new ArrayList<>();
        for (RankProfile profile : profiles) {
            rules.add(ofClass.computeIfAbsent(
                    classes.classOf(profile.rank()), k -> new NicRules(profile, choices.get(profile.rank()))));
        }
        return rules;
    }

    private static List<Decision> decide(
            List<RankProfile> profiles, List<NicRules> rules, PairKinds kinds, Chooser chooser) {
        List<Chooser.Offers> offers = new ArrayList<>();
        Failures failures = new Failures();
        Map<Integer, RankProfile> narrowed = new HashMap<>();
        for (Kind kind : kinds.kinds()) {
            RankProfile from = narrowed.computeIfAbsent(kind.from(), r -> narrow(profiles.get(r), rules.get(r)));
            RankProfile to = narrowed.computeIfAbsent(kind.to(), r -> narrow(profiles.get(r), rules.get(r)));
            Chooser.Offers all = chooser.offers(from, to, rules.get(kind.from()));
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

    private static RankProfile narrow(RankProfile profile, NicRules rules) {
        return profile.withLocality(rules.locality());
    }
}
