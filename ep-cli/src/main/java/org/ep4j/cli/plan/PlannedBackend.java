package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.ep4j.EpGroup;
import org.ep4j.config.EpConfig;
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
    /** The backends that are installed, by name, without settings. */
    public static List<PlannedBackend> all() {
        return all(EpConfig.builder(Map.of(), Map.of()).build());
    }

    /** The backends that are installed, by name, with the settings that ranks would have. */
    public static List<PlannedBackend> all(EpConfig config) {
        List<PlannedBackend> found = new ArrayList<>();
        ServiceLoader.load(EpBackendProvider.class, EpGroup.class.getClassLoader())
                .forEach(p -> found.add(new PlannedBackend(
                        p.id(),
                        request -> p.describe(
                                new DescribeRequest(request.device(), request.locality(), request.hostId(), config)),
                        p::offer)));
        found.sort(Comparator.comparing(PlannedBackend::id));
        return List.copyOf(found);
    }

    /** As the planner sees it. */
    public Planner.Candidate candidate() {
        return new Planner.Candidate(id, offer);
    }
}
