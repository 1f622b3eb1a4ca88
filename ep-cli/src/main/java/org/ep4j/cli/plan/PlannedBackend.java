package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.ep4j.EpGroup;
import org.ep4j.plan.Planner;
import org.ep4j.plan.RankProfile;
import org.ep4j.spi.DescribeRequest;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;

/**
 * A backend that can be planned with.
 *
 * @param id its name
 * @param installed false when only its rules are known
 * @param describe what it says of a machine
 * @param offer how it would connect two ranks
 */
public record PlannedBackend(
        String id,
        boolean installed,
        Function<DescribeRequest, ProbeReport> describe,
        BiFunction<RankProfile, RankProfile, Offer> offer) {
    private static final List<BackendRule> RULES = List.of(new IbgdaRule());

    /** The backends that are installed, and the rules of those that are not; by name. */
    public static List<PlannedBackend> all() {
        List<EpBackendProvider> providers = new ArrayList<>();
        ServiceLoader.load(EpBackendProvider.class, EpGroup.class.getClassLoader())
                .forEach(providers::add);
        return all(providers);
    }

    /** As above, with the given ones installed. */
    static List<PlannedBackend> all(List<EpBackendProvider> providers) {
        List<PlannedBackend> found = new ArrayList<>();
        providers.forEach(p -> found.add(new PlannedBackend(p.id(), true, p::describe, p::offer)));
        for (BackendRule rule : RULES) {
            if (found.stream().noneMatch(known -> known.id().equals(rule.id()))) {
                found.add(new PlannedBackend(rule.id(), false, rule::describe, rule::offer));
            }
        }
        found.sort(Comparator.comparing(PlannedBackend::id));
        return List.copyOf(found);
    }

    /** As the planner sees it. */
    public Planner.Candidate candidate() {
        return new Planner.Candidate(id, offer);
    }
}
