package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.function.BiFunction;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Planner;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;

/**
 * A backend that can be planned with.
 *
 * @param id its name
 * @param keys its settings
 * @param describe what it says of a rank on a described machine
 * @param offer how it would connect two ranks
 */
public record PlannedBackend(
        String id,
        List<ConfigKey<?>> keys,
        BiFunction<RankProfile, EpConfig, ProbeReport> describe,
        BiFunction<RankProfile, RankProfile, Offer> offer) {
    /** The backends that are installed, by name. */
    public static List<PlannedBackend> all() {
        List<PlannedBackend> found = new ArrayList<>();
        ServiceLoader.load(EpBackendProvider.class, EpGroup.class.getClassLoader())
                .forEach(p -> found.add(new PlannedBackend(p.id(), p.configKeys(), p::describe, p::offer)));
        found.sort(Comparator.comparing(PlannedBackend::id));
        return List.copyOf(found);
    }

    /** Settings of ep4j, then those of each backend that is installed. */
    public static List<ConfigKey<?>> allKeys() {
        return withKeys(EpKeys.all(), all());
    }

    /** Settings and, after them, those of backends. */
    static List<ConfigKey<?>> withKeys(List<ConfigKey<?>> first, List<PlannedBackend> backends) {
        List<ConfigKey<?>> all = new ArrayList<>(first);
        backends.forEach(backend -> all.addAll(backend.keys()));
        return all;
    }

    public Planner.Candidate candidate() {
        return new Planner.Candidate(id, offer);
    }
}
