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
 * @param describe what it says of a machine
 * @param offer how it would connect two ranks
 */
public record PlannedBackend(
        String id, Function<DescribeRequest, ProbeReport> describe, BiFunction<RankProfile, RankProfile, Offer> offer) {
    /** The backends that are installed, by name. */
    public static List<PlannedBackend> all() {
        List<PlannedBackend> found = new ArrayList<>();
        ServiceLoader.load(EpBackendProvider.class, EpGroup.class.getClassLoader())
                .forEach(p -> found.add(new PlannedBackend(p.id(), p::describe, p::offer)));
        found.sort(Comparator.comparing(PlannedBackend::id));
        return List.copyOf(found);
    }

    /** As the planner sees it. */
    public Planner.Candidate candidate() {
        return new Planner.Candidate(id, offer);
    }
}
